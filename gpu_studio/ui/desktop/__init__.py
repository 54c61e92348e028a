"""What the desktop around the window is told."""
