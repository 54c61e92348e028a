"""The Runs page: all runs as a table, their curves, and the queue."""
