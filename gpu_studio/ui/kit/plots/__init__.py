"""Plots over time: fast enough for a live run, and small enough to be read."""
