"""How samples can be kept aside to validate and to test with."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gpu_studio.plan.values import Data, Plan

GROUPS = "groups"
"""What the array with the group of each sample is called where a plan says nothing else."""
SPLITS: Mapping[str, str] = {
    "random": "any samples, drawn by the seed",
    "stratified": "each class with its share in every split",
    "ordered": "the last samples, as for a time series",
    "grouped": "whole groups, none of them in two splits",
}
"""The ways, each with what it keeps aside."""


VALIDATION_NAMES = ("val", "valid", "validation")
"""What the validation samples of one's own may be called: as folders of images, and as arrays after `x_` and `y_`."""
STRATIFY = 'data.split = "stratified" gives each class its share in every split.'
"""What to do about a split that lacks a class, where that helps."""


def groups_array(data: Data) -> str | None:
    """The name of the array with the group of each sample; None unless the plan splits by groups."""
    return (data.groups or GROUPS) if data.split == "grouped" else None


def further_arrays(there: Collection[str]) -> dict[str, tuple[str, str]]:
    """The names of samples and targets for "val" and "test", of those that the data have an array for.

    Of the two arrays one may be missing: `there` are the names that the data have.
    """
    known = {"val": VALIDATION_NAMES, "test": ("test",)}
    pairs = {part: [(f"x_{name}", f"y_{name}") for name in names] for part, names in known.items()}
    found = {part: next((pair for pair in some if set(pair) & set(there)), None) for part, some in pairs.items()}
    return {part: pair for part, pair in found.items() if pair is not None}


def brings_splits(data: Data) -> bool:
    """Whether the data may bring validation samples of their own: only who reads them knows."""
    return data.file is not None or data.folder is not None or data.python is not None


def may_validate(plan: Plan) -> bool:
    """Whether a run of the plan may have samples to validate with."""
    return plan.data.validation_fraction > 0 or brings_splits(plan.data)
