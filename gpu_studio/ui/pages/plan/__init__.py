"""The cards of the Plan page."""
