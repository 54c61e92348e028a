"""A run on disk: its directory, its events and commands, whether it lives, and how it is started, stopped and kept."""
