"""The ways to keep samples aside for validation and test."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gpu_studio.plan.values import Data, Plan

GROUPS = "groups"
"""The default name of the array with each sample's group."""
SPLITS: Mapping[str, str] = {
    "random": "any samples, drawn by the seed",
    "stratified": "each class with its share in every split",
    "ordered": "the last samples, as for a time series",
    "grouped": "whole groups, none of them in two splits",
}
"""Each way to split, with what it keeps aside."""


VALIDATION_NAMES = ("val", "valid", "validation")
"""Accepted names of the user's own validation samples.

Image folders, or arrays after `x_`, `y_`.
"""
STRATIFY = 'data.split = "stratified" gives each class its share in every split.'
"""Advice for a split that lacks a class, if that helps."""


def groups_array(data: Data) -> str | None:
    """The array with the group of each sample; None unless the plan splits by groups."""
    return (data.groups or GROUPS) if data.split == "grouped" else None


def further_arrays(there: Collection[str]) -> dict[str, tuple[str, str]]:
    """The names of samples and targets for "val" and "test", if the data have an array for them.

    One of the two arrays may be missing: `there` are the names that the data have.
    """
    known = {"val": VALIDATION_NAMES, "test": ("test",)}
    pairs = {part: [(f"x_{name}", f"y_{name}") for name in names] for part, names in known.items()}
    found = {
        part: next((pair for pair in some if set(pair) & set(there)), None)
        for part, some in pairs.items()
    }
    return {part: pair for part, pair in found.items() if pair is not None}


def brings_splits(data: Data) -> bool:
    """Whether the data may have validation samples of their own; only their reader can know."""
    return data.file is not None or data.folder is not None or data.python is not None


def may_validate(plan: Plan) -> bool:
    """Whether a run of the plan may have samples to validate with."""
    return plan.data.validation_fraction > 0 or brings_splits(plan.data)
