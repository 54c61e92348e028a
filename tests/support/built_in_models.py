"""Data for each built-in model, derived from the catalogue so that new models are tested too."""

from __future__ import annotations

import made_data

from gpu_studio.plan.catalogue import ModelEntry
from gpu_studio.trainer.data import Dataset


def shape_for(entry: ModelEntry) -> tuple[int, ...]:
    """The shape of one sample.

    An image of three channels if the model takes any, else rows of numbers.
    """
    rank = max(entry.ranks, default=2)
    return (max(9, entry.smallest_side), max(7, entry.smallest_side), 3)[:rank]


def dataset_for(entry: ModelEntry) -> Dataset:
    """A dozen samples of measured numbers."""
    return (made_data.classes if "classes" in entry.tasks else made_data.values)(shape_for(entry))


def settings_for(entry: ModelEntry) -> tuple[str, ...]:
    """Settings for the model with its default options and a few built-in samples."""
    named = f"model.name={entry.name}", "model.options={}"
    if "classes" not in entry.tasks:
        return (*named, "data.name=regression", "data.options={ samples = 90 }")
    return (
        *named,
        "data.name=synthetic",
        f"data.options={{ shape = {list(shape_for(entry))}, samples = 90 }}",
    )
