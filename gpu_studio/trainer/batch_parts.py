"""How the state of a metric counts that is computed for each of several parts of a batch.

State that is a sum over the samples adds up. What is one number for a batch, whatever its size,
such as a count of batches or a sum of their means, counts by a part's share in the batch. The
states of a metric belong together: where one of them counts by share, none is multiplied beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import tensorflow as tf

Added = tuple[np.ndarray, np.ndarray, np.ndarray]
"""What two batches add to a state, and what they add as one batch."""


@dataclass(frozen=True, slots=True)
class Counting:
    """Which states of a metric count `by_share`; `splits` says that the parts give the whole's.

    Where that is not so, it `is_mean` if the mean of what the parts give stands for it.
    """

    by_share: tuple[bool, ...]
    splits: bool = True
    is_mean: bool = True


def counting_of(
    states: Sequence[Added], rows: tuple[int, int], unsteady: Collection[int] = ()
) -> Counting:
    """How the states of a metric count, from what batches of so many `rows` add to each.

    Beside a state that counts by share, each other does, too, unless it is proved to be a sum over
    the samples. What is undecided is a plain sum: what adds nothing, beside a sum or in whole
    numbers, and what is neither at the places of `unsteady` states, of which these batches do not
    show it. Such a state without a sum beside it may be one with the state that counts by share:
    that leaves all plain sums, and so do whole numbers that are neither.
    """
    kinds = [_kind(*each, rows) for each in states]
    if "mean" not in kinds:
        return Counting((False,) * len(states))
    whole = [not np.issubdtype(each[2].dtype, np.floating) for each in states]
    loose = {place for place in unsteady if kinds[place] == "neither"}
    apart = [place for place, kind in enumerate(kinds) if kind == "neither" and place not in loose]
    sums = "sum" in kinds
    if any(whole[place] for place in apart) or (loose and not sums):
        return Counting((False,) * len(states), splits=False, is_mean=not loose)
    nothing = (place for place, kind in enumerate(kinds) if kind == "nothing")
    undecided = loose | {place for place in nothing if sums or whole[place]}
    by_share = tuple(kind != "sum" and place not in undecided for place, kind in enumerate(kinds))
    return Counting(by_share, splits=not (apart or undecided), is_mean=not undecided)


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


def one_number(name: str, parts: int, what: str, *, is_mean: bool = True) -> str:
    """What is said of a metric that the parts of a batch do not give as the whole batch does."""
    if not is_mean:
        return (
            f"How the metric {name} counts in parts of a batch cannot be found out. What each of "
            f"the {parts} {what} adds is summed: it may be another number than on one device."
        )
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
