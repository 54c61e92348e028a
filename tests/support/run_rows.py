"""Rows of the Runs page, made without its reader."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.labels import Labels
from gpu_studio.runs.reading.epochs import BestValue
from gpu_studio.runs.reading.summary import Summary
from gpu_studio.ui.runs.run_rows import RunRow

MIB = 1024 * 1024


def run_row(
    name: str = "a",
    tags: tuple[str, ...] = (),
    note: str = "",
    joules: float | None = None,
    **changes: Any,
) -> RunRow:
    """A run that has finished, with these changes of its summary."""
    made = Summary(
        directory=RunDirectory(Path("/runs") / name),
        plan=f"plan {name}",
        state="finished",
        reason="completed",
        created=0.0,
        seconds=62.0,
        epoch=3,
        epochs_total=30,
        step=10,
        steps_total=100,
        best=BestValue("val_accuracy", 0.96, 2),
        curve=(0.5, 0.9, 0.96),
        peaks={"GPU:0": 700 * MIB, "GPU:1": 760 * MIB},
        strategy="mirrored",
        resumed_from=None,
        losses=(2.0, 0.7, 0.4),
        model="mlp",
    )
    return RunRow(replace(made, **changes), Labels(tags, note), joules)
