"""What the window does with plans, runs and the queue."""
