"""Forms over a plan: rows of a label, a control, a hint, what is wrong, and the way back to the default."""
