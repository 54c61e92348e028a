"""The Train page: the run that is shown, its plots, its log, its checkpoints."""
