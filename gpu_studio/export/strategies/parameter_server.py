"""Parameter server: why no script is written for it."""

from __future__ import annotations

from typing import Final

WHY_NO_SERVERS: Final = (
    "No script trains on parameter servers: a chief that gives each sample out once, counts the "
    "steps for the optimizer and goes on without a lost worker is a trainer of its own. Train the "
    "plan by a run, or choose multi_worker, whose script any machine can start."
)
