"""Rules for splitting the data into training, validation and test samples."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_studio.plan.catalogue import data_entry
from gpu_studio.plan.problems import Problem, shown
from gpu_studio.plan.splitting import GROUPS
from gpu_studio.plan.values import Plan


def split_suits(plan: Plan) -> Iterator[Problem]:
    """The data can be split in the way that the plan names."""
    data, entry = plan.data, data_entry(plan.data)
    advice = ""
    if data.split == "grouped" and data.file is None and data.python is None:
        advice = "only an .npz file or a Python function says of which group each sample is"
    elif data.split == "ordered" and data.folder is not None:
        advice = "images stand in the order of their classes, and whole classes would be kept aside"
    elif data.split == "stratified" and entry is not None and entry.task == "values":
        advice = f"{entry.name} has numbers to learn, and no classes"
    if advice:
        fitting = (
            "random or ordered"
            if entry is not None and entry.task == "values"
            else "random or stratified"
        )
        yield Problem("data.split", shown(data.split), f"{advice}: choose {fitting}")


def groups_named(plan: Plan) -> Iterator[Problem]:
    """The array with the groups has a name, and is used."""
    groups = plan.data.groups
    if groups is None:
        return
    if not groups or not groups.isprintable():
        advice = f"give the name of the array with the group of each sample, such as {GROUPS}"
        yield Problem("data.groups", shown(groups), advice)
    elif plan.data.split != "grouped":
        advice = 'it is read only where data.split is "grouped": set that, or leave it out'
        yield Problem("data.groups", shown(groups), advice)
