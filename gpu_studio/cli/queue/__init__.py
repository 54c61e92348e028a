"""The commands about the queue."""
