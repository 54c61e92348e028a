"""How long processes and threads of a test may take to end after it; only leftovers cost time."""

from __future__ import annotations

import os

IDLE_S = float(os.environ.get("HYGIENE_GRACE_S", "3"))
"""On a machine that has nothing else to do."""


def grace_s() -> float:
    """So much longer as others wait for the cores, too: what is ending has its turn less often."""
    return IDLE_S * (1 + os.getloadavg()[0] / (os.cpu_count() or 1))
