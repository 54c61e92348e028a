"""Widgets for choosing."""
