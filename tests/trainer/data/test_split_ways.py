"""Each way of keeping samples aside: nothing lost, nothing twice, and what the way promises."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpu_studio.plan import Data
from gpu_studio.plan.data import SPLITS
from gpu_studio.trainer.data.loading import (
    PARTS_BY_SPLIT,
    cut,
    held_out,
    missing_classes,
    shares,
    split_indices,
)
from gpu_studio.trainer.data.values import LoadedData, Split
from gpu_studio.trainer.errors import DataError

fractions = st.sampled_from([0.0, 0.1, 0.25, 0.5])
seeds = st.integers(0, 2**32 - 1)
ids = st.lists(st.integers(0, 5), min_size=4, max_size=120).map(np.array)


def parts_of(way, classes, test, validation, seed):
    try:
        return split_indices(len(classes), test, validation, seed, way, classes, classes)
    except DataError:
        assume(False)


def test_that_every_way_that_a_plan_can_name_is_there():
    assert set(PARTS_BY_SPLIT) == set(SPLITS)


@pytest.mark.parametrize("way", SPLITS)
@given(ids, fractions, fractions, seeds)
def test_that_no_sample_is_lost_or_in_two_splits(way, classes, test, validation, seed):
    parts = parts_of(way, classes, test, validation, seed)
    assert sorted(np.concatenate(parts)) == list(range(len(classes)))
    assert all((np.diff(part) > 0).all() for part in parts)
    assert len(parts[0])
    assert [len(part) > 0 for part in parts[1:]] == [validation > 0, test > 0]


@given(ids, fractions, fractions, seeds)
def test_that_each_class_has_its_share_in_every_split(classes, test, validation, seed):
    parts = parts_of("stratified", classes, test, validation, seed)
    asked = [fraction for fraction in (test, validation) if fraction]
    for each in np.unique(classes):
        counts = [int((classes[part] == each).sum()) for part in parts]
        assert counts[0] >= 1
        if sum(counts) > len(asked):
            assert all(
                count >= 1
                for count, fraction in zip(counts[1:], (validation, test), strict=True)
                if fraction
            )
        assert abs(counts[2] - sum(counts) * test) <= 1


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8).map(np.array), st.floats(0, 0.9))
def test_that_the_shares_of_classes_are_together_what_was_asked_for(counts, fraction):
    wanted = held_out(int(counts.sum()), fraction)
    given_ = shares(counts, wanted)
    assert (given_ <= counts - 1).all()
    exact = counts * wanted / counts.sum()
    assert ((np.abs(given_ - exact) <= 1) | (given_ == counts - 1)).all()
    if wanted and (exact >= 1).all() and (np.ceil(exact) < counts).all():
        assert given_.sum() == wanted


@given(ids, fractions, fractions, seeds)
def test_that_no_group_is_in_two_splits(groups, test, validation, seed):
    parts = [set(groups[part]) for part in parts_of("grouped", groups, test, validation, seed)]
    assert sum(map(len, parts)) == len(set.union(*parts))


@given(st.integers(4, 200), fractions, fractions, seeds)
def test_that_samples_in_order_are_trained_on_before_they_are_validated_and_tested(
    samples, test, validation, seed
):
    training, held, tested = parts_of("ordered", np.zeros(samples, int), test, validation, seed)
    assert np.concatenate([training, held, tested]).tolist() == list(range(samples))


def test_that_another_process_splits_alike():
    code = (
        "import numpy as np; from gpu_studio.trainer.data.loading import split_indices; ids = "
        "np.arange(60) % 7\n"
        f"for way in {list(SPLITS)}: print([part.tolist() for part in split_indices(60, 0.2, 0.2, "
        "9, way, ids, ids)])"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    ids = np.arange(60) % 7
    mine = [split_indices(60, 0.2, 0.2, 9, way, ids, ids) for way in SPLITS]
    assert told.splitlines() == [str([part.tolist() for part in parts]) for parts in mine]


def test_that_rare_classes_are_on_both_sides_whatever_the_seed():
    classes = np.repeat([0, 1, 2], [900, 85, 15])
    for seed in range(50):
        parts = split_indices(1000, 0.1, 0.1, seed, "stratified", classes)
        assert [np.bincount(classes[part]).tolist() for part in parts] == [
            [729, 68, 13],
            [81, 8, 1],
            [90, 9, 1],
        ]


def test_that_groups_may_have_names_and_the_largest_stays_for_training():
    groups = np.repeat(["ann", "bob", "cy", "di"], [70, 10, 10, 10])
    training, validation, test = split_indices(100, 0.1, 0.1, 0, "grouped", groups=groups)
    assert (len(training), len(validation), len(test)) == (80, 10, 10)
    assert "ann" in groups[training]


def test_that_too_few_groups_are_refused_with_their_number():
    with pytest.raises(DataError, match=r"there are 2 groups for 3 splits\.") as refused:
        split_indices(10, 0.1, 0.1, 0, "grouped", groups=np.arange(10) % 2)
    assert "data.test_fraction" in refused.value.suggestions[0]
    with pytest.raises(DataError, match=r"there is 1 group for 2 splits\."):
        split_indices(10, 0, 0.1, 0, "grouped", groups=np.zeros(10))


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), fractions, fractions, seeds)
def test_that_as_many_groups_as_splits_are_enough_however_large_they_are(
    sizes, test, validation, seed
):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    left = len(groups) - held_out(len(groups), test)
    assume(left - held_out(left, validation) >= 1)
    if len(sizes) < 1 + (test > 0) + (validation > 0):
        with pytest.raises(DataError, match="group"):
            split_indices(len(groups), test, validation, seed, "grouped", groups=groups)
    else:
        parts = split_indices(len(groups), test, validation, seed, "grouped", groups=groups)
        assert [len(part) > 0 for part in parts] == [True, validation > 0, test > 0]


def test_that_classes_with_too_few_samples_for_every_split_are_refused_with_that_reason():
    with pytest.raises(DataError, match=r"no class has a sample for each of 3 splits\."):
        split_indices(8, 0.2, 0.2, 0, "stratified", np.arange(8) // 2)


def test_that_numbers_to_learn_have_no_classes_to_go_by():
    values = LoadedData(Split(np.zeros((9, 1), np.float32), np.linspace(0, 1, 9).reshape(9, 1)))
    with pytest.raises(DataError, match="the targets are numbers"):
        cut(values, Data(split="stratified"), 0)


def test_that_splits_of_their_own_stay_as_they_are_whatever_the_way():
    own = [Split(np.zeros((size, 1), np.float32), np.arange(size)) for size in (30, 4, 5)]
    for way in SPLITS:
        source = LoadedData(own[0], own[1], own[2], np.arange(30))
        assert cut(source, Data(split=way), 0) == tuple(own)


def test_that_classes_of_which_a_split_has_no_samples_are_told():
    (told,) = missing_classes([np.array([0, 1, 2]), np.array([0]), None], "random", ("a", "b", "c"))
    assert told.startswith(
        "The validation split has no samples of classes b and c. Its figures say nothing of them."
    )
    assert 'data.split = "stratified"' in told
    (alone,) = missing_classes([np.array([0, 2]), None, np.array([0, 2, 7])], "stratified")
    assert alone == "The training split has no samples of class 7. Nothing is learnt of it."
    assert (
        list(missing_classes([np.array([0, 1]), np.array([1, 0]), np.array([0, 1])], "random"))
        == []
    )


def test_that_another_way_of_splitting_is_advised_only_where_it_would_help():
    """It cannot change a split that the data bring, nor find a class that only that split has."""
    targets = [np.array([0, 1]), np.array([0, 7]), np.array([0])]
    training, validation, test = missing_classes(targets, "random", own=(False, True, False))
    assert training == "The training split has no samples of class 7. Nothing is learnt of it."
    assert (
        validation
        == "The validation split has no samples of class 1. Its figures say nothing of it."
    )
    assert test.startswith("The test split has no samples of classes 1 and 7.")
    assert test.endswith('data.split = "stratified" gives each class its share in every split.')
