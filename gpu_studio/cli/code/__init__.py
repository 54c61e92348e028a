"""The commands about Python code of the user's own."""
