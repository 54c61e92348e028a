"""Why a run ended otherwise than it should, told from what is left of it, and what may help."""
