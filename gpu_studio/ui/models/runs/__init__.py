"""What the Runs page shows: the list of runs, filtered and in order, and runs compared."""
