"""The results of runs: figures, times, comparison, reports, and exports for other programs."""
