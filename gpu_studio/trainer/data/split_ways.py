"""The ways in which samples are kept aside: which of them are for training, for validation and for testing.

As `export` writes them into scripts: whoever changes the one changes the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpu_studio.plan.values import DataSplit
from gpu_studio.trainer.data.values import Array

Parts = tuple[Array, Array, Array]
# Keeps the permutation apart from every other use of the plan's seed.
_PURPOSE = 0x5B117


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """How many of the samples are to be kept aside, and what is known of each: its class, its group."""

    samples: int
    test: int
    validation: int
    seed: int
    classes: Array | None = None
    groups: Array | None = None

    def generator(self) -> np.random.Generator:
        """Random numbers by the seed alone."""
        return np.random.Generator(np.random.PCG64([_PURPOSE, self.seed]))


def random(asked: Asked) -> Parts:
    """Any samples."""
    return _in_turn(asked.generator().permutation(asked.samples), asked)


def ordered(asked: Asked) -> Parts:
    """The last samples test, those before them validate."""
    return _in_turn(np.arange(asked.samples)[::-1], asked)


def _in_turn(order: Array, asked: Asked) -> Parts:
    test, validation, training = np.split(order, [asked.test, asked.test + asked.validation])
    return training, validation, test


def stratified(asked: Asked) -> Parts:
    """Of each class its share, and at least one sample in every split, where the class has so many."""
    classes = np.zeros(asked.samples, int) if asked.classes is None else asked.classes
    order = asked.generator().permutation(asked.samples)
    order = order[np.argsort(classes[order], kind="stable")]
    _, first, count = np.unique(classes[order], return_index=True, return_counts=True)
    test = shares(count, asked.test, keep=2 if asked.validation else 1)
    validation = shares(count - test, asked.validation)
    # The how-manieth of its class each sample is.
    place = np.arange(asked.samples) - np.repeat(first, count)
    tests, held = place < np.repeat(test, count), place < np.repeat(test + validation, count)
    return order[~held], order[held & ~tests], order[tests]


def shares(counts: Array, wanted: int, keep: int = 1) -> Array:
    """How many samples each class gives, so that all give `wanted` together: by its share, the largest rests first.

    A class with two samples or more gives at least one; it keeps `keep` of them, or at least one.
    """
    if wanted == 0:
        return np.zeros_like(counts)
    exact = counts * wanted / counts.sum()
    given = np.floor(exact).astype(counts.dtype)
    given[np.argsort(given - exact, kind="stable")[: wanted - given.sum()]] += 1
    least = np.minimum(1, counts - 1)
    within: Array = np.clip(given, least, np.maximum(least, counts - keep))
    return within


def grouped(asked: Asked) -> Parts:
    """Whole groups, and never more samples than asked for, unless the smallest group has more.

    Where there are as many groups as splits, each split gets one.
    """
    groups = np.arange(asked.samples) if asked.groups is None else asked.groups
    _, group, count = np.unique(groups, return_inverse=True, return_counts=True)
    order = asked.generator().permutation(len(count))
    test = _groups_for(asked.test, order, count, keep=2 if asked.validation else 1)
    validation = _groups_for(asked.validation, order[~np.isin(order, test)], count, keep=1)
    held = [np.flatnonzero(np.isin(group, chosen)) for chosen in (validation, test)]
    return np.setdiff1d(np.arange(asked.samples), np.concatenate(held)), held[0], held[1]


def _groups_for(wanted: int, order: Array, count: Array, keep: int) -> list[int]:
    """Groups with `wanted` samples or fewer, or else the smallest; `keep` groups are left."""
    chosen: list[int] = []
    left = wanted
    for each in order:
        if count[each] <= left and len(chosen) < len(order) - keep:
            chosen.append(int(each))
            left -= int(count[each])
    if wanted and not chosen and len(order) > keep:
        chosen.append(int(order[np.argmin(count[order])]))
    return chosen


WAYS: dict[DataSplit, Callable[[Asked], Parts]] = {
    "random": random,
    "stratified": stratified,
    "ordered": ordered,
    "grouped": grouped,
}
