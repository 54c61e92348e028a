"""Whole numbers that are taken for class ids, though most likely they are values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_studio.common.figures import grouped
from gpu_studio.plan.columns import TABLE
from gpu_studio.plan.values import Data, Remedy, changing, printable


@dataclass(frozen=True, slots=True)
class TakenForIds:
    """What is said of a target that is `sparse`: what it is, why that is odd, and what to do.

    `column` is that of a table; elsewhere it is None.
    """

    text: str
    why: str
    advice: str
    column: str | None


def taken_for_ids(data: Data, name: str, path: Sequence[str | int], ids: int) -> TakenForIds | None:
    """Return what to say of the target at `path` in these data, which are called `name`.

    It has so many `ids`. None if the plan says that it holds values.
    """
    column = _column(data, path)
    if column is not None and column in TABLE.values(data.options)["values"]:
        return None
    called = "/".join(("y", *map(str, path))) if column is None else printable(column)
    advice = (
        f'To learn values give {called} as floats, by astype("float32").'
        if column is None
        else f"To learn values name {called} in data.options.values."
    )
    return TakenForIds(
        f"The whole numbers of {called} in {name} are taken for {grouped(ids)} class ids.",
        "Most of those ids occur nowhere in the data, and each takes an output of the model.",
        advice,
        column,
    )


def _column(data: Data, path: Sequence[str | int]) -> str | None:
    """Return the column of a table that is the target at this path."""
    if data.table is None:
        return None
    targets = TABLE.values(data.options)["targets"]
    return str(path[-1]) if path else next(iter(targets), None)


def as_values(data: Data, column: str) -> Remedy:
    """The remedy that has a column of a table read as values."""
    named = [*TABLE.values(data.options)["values"], column]
    return changing("Learn values", "data", options={**data.options, "values": named})
