"""Training in the terminal."""
