"""Things to choose."""
