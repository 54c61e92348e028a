"""Runs on disk: read their events and state, and start, stop, resume, queue and keep them."""
