"""How long what a test made may take to end after the test. Only a test that leaves something pays for it."""

from __future__ import annotations

import os

GRACE_S = float(os.environ.get("HYGIENE_GRACE_S", "3"))
