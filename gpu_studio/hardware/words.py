"""Values shared by modules of `hardware` that must not import each other."""

from __future__ import annotations

RENEW = 75
"""Exit code of a sampler whose driver was replaced under it (EX_TEMPFAIL: try again)."""


class SimulationError(ValueError):
    """The requested simulation is impossible: why, and what is available."""
