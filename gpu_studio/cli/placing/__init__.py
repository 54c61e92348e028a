"""The commands about models and where their layers go."""
