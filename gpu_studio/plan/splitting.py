"""How samples can be kept aside to validate and to test with."""

from __future__ import annotations

from collections.abc import Mapping

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


def groups_array(data: Data) -> str | None:
    """The name of the array with the group of each sample; None unless the plan splits by groups."""
    return (data.groups or GROUPS) if data.split == "grouped" else None


def brings_splits(data: Data) -> bool:
    """Whether the data may bring validation samples of their own: only who reads them knows."""
    return data.file is not None or data.folder is not None or data.python is not None


def may_validate(plan: Plan) -> bool:
    """Whether a run of the plan may have samples to validate with."""
    return plan.data.validation_fraction > 0 or brings_splits(plan.data)
