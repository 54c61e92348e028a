"""Cut samples into training, validation and test splits: seeded, disjoint, and none lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpu_studio.trainer.data.values import Array, Split
from gpu_studio.trainer.errors import DataError

# Keeps the permutation apart from every other use of the plan's seed.
_PURPOSE = 0x5B117


def held_out(samples: int, fraction: float) -> int:
    """How many of `samples` the `fraction` holds out: rounded, but at least one where anything is asked for."""
    return max(1, round(samples * fraction)) if fraction > 0 else 0


def split_indices(samples: int, test_fraction: float, validation_fraction: float, seed: int) -> tuple[Array, ...]:
    """The indices of the training, the validation and the test samples, each in increasing order.

    The test samples are cut off first; the validation samples are a fraction of what is left. A fraction of 0
    leaves its split empty. Raises DataError if no sample would be left to train on.
    """
    test = held_out(samples, test_fraction)
    validation = held_out(samples - test, validation_fraction)
    if samples - test - validation < 1:
        raise _nothing_left(samples, test, validation)
    order = np.random.Generator(np.random.PCG64([_PURPOSE, seed])).permutation(samples)
    parts = np.split(order, [test, test + validation])
    return np.sort(parts[2]), np.sort(parts[1]), np.sort(parts[0])


def cut(
    whole: Split, test: Split | None, test_fraction: float, validation_fraction: float, seed: int
) -> tuple[Split, Split | None, Split | None]:
    """Training, validation and test split of `whole`; a `test` split that the data bring stays as it is."""
    fraction = 0.0 if test is not None else test_fraction
    training, validation, held = split_indices(len(whole), fraction, validation_fraction, seed)
    if len(training) == len(whole):
        return whole, None, test
    return _take(whole, training), _take_any(whole, validation), test or _take_any(whole, held)


def _take(split: Split, places: Array) -> Split:
    """The samples at these places of the split; no sample is copied."""
    return replace(split, rows=places if split.rows is None else split.rows[places])


def _take_any(split: Split, places: Array) -> Split | None:
    return _take(split, places) if len(places) else None


def _nothing_left(samples: int, test: int, validation: int) -> DataError:
    return DataError(
        f"The data have {samples} samples; {test} for testing and {validation} for validation leave none to train on.",
        ["Make data.test_fraction or data.validation_fraction smaller, or 0.", "Give more samples."],
    )
