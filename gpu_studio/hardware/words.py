"""What the parts of the hardware room say to each other, without importing each other for it."""

from __future__ import annotations

RENEW = 75
"""Exit code of a sampler whose driver was replaced under it (EX_TEMPFAIL: try again)."""


class SimulationError(ValueError):
    """What was to be simulated cannot be: why, and what there is."""
