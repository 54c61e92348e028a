"""Check whether TensorFlow can use each card, and what to type if it cannot.

Facts are collected first (`gather`) and then judged by pure functions (`judge`). The driver is
queried in a separate process, never in this one. `python -m gpu_studio.hardware.doctor --json` does
everything in one more process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

_PLACES = {
    "examine": "examination",
    "Facts": "facts",
    "Finding": "findings",
    "Report": "examination",
    "as_json": "examination",
    "gather": "examination",
    "judge": "examination",
    "lines": "examination",
}

__all__ = ["Facts", "Finding", "Report", "as_json", "examine", "gather", "judge", "lines"]


def __getattr__(name: str) -> Any:
    """Import names only on use: the process that queries the driver needs none of the checks."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
