"""What runs came to: figures, times, comparison, files for other programs."""
