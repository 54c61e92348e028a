"""Arrays by name, as an `.npz` file holds them or a function returns them: which are wanted, and what they make."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gpu_studio.plan.splitting import further_arrays
from gpu_studio.trainer.data.arrays import further_split_of, groups_of, split_of
from gpu_studio.trainer.data.values import Array, Source
from gpu_studio.trainer.errors import DataError

NAMES = "x_train and y_train, or x and y (with x_val and y_val, x_test and y_test if there are such splits)"
_WHOLE = (("x_train", "y_train"), ("x", "y"))


def wanted_names(there: Collection[str], groups: str | None = None) -> tuple[str, ...] | None:
    """The arrays to read of those that are there, samples before their targets; None if they make no data.

    `groups` is the name of the array with the group of each sample, if the plan splits by it.
    """
    wholes = [pair for pair in _WHOLE if set(pair) & set(there)]
    names = tuple(name for pair in (*wholes, *further_arrays(there).values()) for name in pair)
    if len(wholes) != 1 or not set(names) <= set(there):
        return None
    return (*names, groups) if groups is not None else names


def source_of(source: str, arrays: Mapping[str, Array], groups: str | None = None) -> Source:
    """The samples in the arrays that `wanted_names` chose. Raises DataError where they do not go together."""
    x, y = next(pair for pair in _WHOLE if pair[0] in arrays)
    whole = split_of(source, x, arrays[x], y, arrays[y])
    further = {
        part: further_split_of(source, names, arrays[names[0]], arrays[names[1]], whole)
        for part, names in further_arrays(arrays).items()
    }
    of_each = groups_of(source, groups, arrays[groups], whole) if groups is not None else None
    return Source(whole, further.get("val"), further.get("test"), of_each, arrays=tuple(arrays))


def no_groups(source: str, there: Collection[str], groups: str) -> DataError:
    """The error for data without the array that the plan splits by."""
    return DataError(
        f'data.split is "grouped", but {source} has no array {groups}. It has {", ".join(sorted(there))}.',
        [
            f"Give the group of each sample in an array {groups}: a number or a text.",
            "Name another array in data.groups.",
            'Or set data.split to "random".',
        ],
    )
