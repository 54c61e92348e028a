"""A run's events read and folded: history, curves, summaries."""
