"""Read a run's events and derive its history, curves and summaries."""
