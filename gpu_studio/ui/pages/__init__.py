"""The pages of the window; they never import each other."""
