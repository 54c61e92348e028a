"""Notifications to the desktop around the window."""
