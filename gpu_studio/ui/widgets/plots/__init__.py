"""Plots over time: quick enough for a live run, and small enough to be read."""
