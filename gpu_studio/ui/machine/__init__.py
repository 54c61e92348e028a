"""The machine as the window sees it: its hardware, its present state, and the doctor's findings."""
