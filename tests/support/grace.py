"""How long processes and threads of a test may take to end after it; only leftovers cost time."""

from __future__ import annotations

import os

GRACE_S = float(os.environ.get("HYGIENE_GRACE_S", "20"))
