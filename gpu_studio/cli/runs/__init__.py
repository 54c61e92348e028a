"""The commands about runs that were."""
