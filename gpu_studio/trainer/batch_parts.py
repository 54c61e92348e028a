"""How the state of a metric counts that is computed for each of several parts of a batch.

State that is a sum over the samples adds up. What is one number for a batch, whatever its size,
such as a count of batches or a sum of their means, counts by a part's share in the batch. The
states of a metric belong together: where one of them counts by share, none is multiplied beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import tensorflow as tf

Added = tuple[np.ndarray, np.ndarray, np.ndarray]
"""What two batches add to a state, and what they add as one batch."""


@dataclass(frozen=True, slots=True)
class Ways:
    """Which states of a metric count `by_share`; `splits` says that the parts give the whole's."""

    by_share: tuple[bool, ...]
    splits: bool = True


def ways_of(states: Sequence[Added], rows: tuple[int, int]) -> Ways:
    """How the states of a metric count, from what batches of so many `rows` add to each.

    Beside a state that counts by share, each other does, too, unless it is proved to be a sum over
    the samples. Where that cannot be, all are plain sums.
    """
    kinds = [_kind(*each, rows) for each in states]
    if "mean" not in kinds:
        return Ways((False,) * len(states))
    splits = "neither" not in kinds
    unproved = [
        each[2].dtype for each, kind in zip(states, kinds, strict=True) if kind == "nothing"
    ]
    apart = [each[2].dtype for each, kind in zip(states, kinds, strict=True) if kind == "neither"]
    whole_numbers = not all(np.issubdtype(each, np.floating) for each in unproved + apart)
    if whole_numbers or (unproved and "sum" in kinds):
        return Ways((False,) * len(states), splits)
    return Ways(tuple(kind != "sum" for kind in kinds), splits)


def _kind(
    one: np.ndarray, other: np.ndarray, both: np.ndarray, rows: tuple[int, int]
) -> Literal["mean", "sum", "neither", "nothing"]:
    """What two batches add as one: the mean of what each adds, the sum, neither, or nothing."""
    first, second = rows
    mean = (first * one + second * other) / (first + second)
    is_mean, is_sum = (
        np.allclose(both, each, rtol=1e-4, atol=1e-5) for each in (mean, one + other)
    )
    if not np.issubdtype(both.dtype, np.floating):
        is_mean = bool(np.all(one == both) and np.all(other == both))
    if is_mean:
        return "nothing" if is_sum else "mean"
    return "sum" if is_sum else "neither"


def one_number(name: str, parts: int, what: str) -> str:
    """What is said of a metric that the parts of a batch do not give as the whole batch does."""
    return (
        f"The metric {name} gives one number for a whole batch. Each of the {parts} {what} gives "
        "that of its own part, and shown is their mean: that is another number than on one device."
    )


def of_part(change: Any, kind: tf.DType, share: Any, number: Any) -> Any:
    """What a part adds to a state of this `kind` that counts by share.

    Whole numbers cannot be shared out: they count in the first part alone.
    """
    if kind.is_floating:
        return change * tf.cast(share, change.dtype)
    return tf.where(tf.equal(number, 0), change, tf.zeros_like(change))
