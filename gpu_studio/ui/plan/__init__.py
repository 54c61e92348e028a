"""The Plan page: its tabs and cards, the open plan, and what is known about it."""
