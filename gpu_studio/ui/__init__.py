"""The window: pages, widgets and item models over the same packages that the command line uses."""
