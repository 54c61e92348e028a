"""The Lab page: what this machine can do, and what is worth it for a plan."""
