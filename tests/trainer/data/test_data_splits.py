"""Splits: seeded, disjoint, complete, and never empty where a fraction is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpu_studio.plan import Data
from gpu_studio.trainer.data.loading import cut, held_out, split_indices
from gpu_studio.trainer.data.values import LoadedData, Split
from gpu_studio.trainer.errors import DataError

fractions = st.floats(0, 0.9)
seeds = st.integers(0, 2**32 - 1)


def numbered(samples: int) -> Split:
    """Samples that carry their own number, as x and as y."""
    numbers = np.arange(samples)
    return Split(numbers.astype(np.float32)[:, None], numbers.astype(np.int32))


def parts_or_nothing(samples, test_fraction, validation_fraction, seed):
    try:
        return split_indices(samples, test_fraction, validation_fraction, seed)
    except DataError:
        left = samples - held_out(samples, test_fraction)
        assert left - held_out(left, validation_fraction) < 1
        assume(False)


@given(st.integers(1, 300), fractions, fractions, seeds)
def test_that_no_sample_is_lost_or_seen_twice(samples, test_fraction, validation_fraction, seed):
    parts = parts_or_nothing(samples, test_fraction, validation_fraction, seed)
    assert sorted(np.concatenate(parts)) == list(range(samples))
    assert len(parts[0]) >= 1


@given(st.integers(3, 300), fractions, fractions, seeds)
def test_that_a_split_is_empty_exactly_if_its_fraction_is_0(
    samples, test_fraction, validation_fraction, seed
):
    _, validation, test = parts_or_nothing(samples, test_fraction, validation_fraction, seed)
    assert (len(test) == 0) == (test_fraction == 0)
    assert (len(validation) == 0) == (validation_fraction == 0)


@given(seeds)
def test_that_equal_seeds_split_equally_and_others_otherwise(seed):
    mine, again, other = (split_indices(200, 0.2, 0.2, s) for s in (seed, seed, seed + 1))
    for one, two in zip(mine, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert any((one != two).any() for one, two in zip(mine, other, strict=True))


def test_that_the_fractions_are_of_what_is_left():
    training, validation, test = split_indices(1000, 0.1, 0.1, 0)
    assert (len(training), len(validation), len(test)) == (810, 90, 100)


def test_that_samples_and_targets_stay_together():
    for part in cut(LoadedData(numbered(100)), Data(test_fraction=0.2, validation_fraction=0.2), 3):
        np.testing.assert_array_equal(
            part.seen(slice(None))[:, 0].astype(np.int32), part.wanted(slice(None))
        )


def test_that_a_test_split_of_the_data_is_kept_and_none_is_cut():
    brought = numbered(5)
    training, validation, test = cut(
        LoadedData(numbered(50), test=brought), Data(test_fraction=0.5), 0
    )
    assert test is brought
    assert len(training) + len(validation) == 50


def test_that_splits_share_the_arrays_of_their_source():
    whole = numbered(100)
    for part in cut(LoadedData(whole), Data(test_fraction=0.2, validation_fraction=0.2), 3):
        assert part.x is whole.x
        assert part.y is whole.y


def test_that_samples_are_not_copied_where_nothing_is_cut_off():
    whole = numbered(10)
    training, validation, test = cut(
        LoadedData(whole), Data(test_fraction=0, validation_fraction=0), 0
    )
    assert training is whole
    assert validation is None
    assert test is None


def test_that_too_few_samples_are_refused_with_their_number():
    with pytest.raises(
        DataError, match=r"2 samples; 1 for testing and 1 for validation leave none"
    ) as refused:
        split_indices(2, 0.5, 0.5, 0)
    assert "data.test_fraction" in refused.value.suggestions[0]
