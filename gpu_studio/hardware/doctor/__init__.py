"""Check whether TensorFlow can use each card, and what to type if it cannot.

Facts are collected first (`gather`) and then judged by pure functions (`judge`). The driver is
queried in a separate process, never in this one. `python -m gpu_studio.hardware.doctor --json` does
everything in one more process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_studio.common.late_names import late_names

if TYPE_CHECKING:
    from gpu_studio.hardware.doctor.examination import (
        Report,
        as_json,
        examine,
        gather,
        judge,
        lines,
    )
    from gpu_studio.hardware.doctor.facts import Facts
    from gpu_studio.hardware.doctor.findings import Finding

__all__ = ["Facts", "Finding", "Report", "as_json", "examine", "gather", "judge", "lines"]

if not TYPE_CHECKING:
    # The process that queries the driver needs none of the checks.
    __getattr__ = late_names(__name__, ("findings", "facts", "examination"))
