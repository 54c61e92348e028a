"""The commands about this machine."""
