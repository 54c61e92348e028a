"""Is it worth it: studies of a plan, fits of scaling laws, and verdicts. Pure values and rules."""
