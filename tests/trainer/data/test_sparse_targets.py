"""Which whole numbers that are learnt are seen to be values rather than ids of classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.plan import Data
from gpu_studio.plan.targets import mostly_absent
from gpu_studio.trainer.answers.data import facts_of
from gpu_studio.trainer.data import load_data
from gpu_studio.trainer.data.values import Split, target_of


def target(y, **stated):
    y = np.asarray(y)
    return target_of([Split(np.zeros((len(y), 1)), y)], **stated)


@given(
    st.sampled_from([1, 10, 120, 300, 3000]).flatmap(
        lambda most: st.lists(st.integers(0, most), min_size=1, max_size=400)
    ),
    st.booleans(),
)
def test_that_a_target_is_sparse_as_the_ids_that_occur_say(ids, column):
    y = np.array(ids, np.int32)
    found = target(y[:, None] if column else y)
    assert found.sparse == mostly_absent(max(ids) + 1, len(set(ids)))


@pytest.mark.parametrize(
    ("y", "stated"),
    [
        (np.float32([0, 250_000]), {}),  # measured
        (np.int32([[0, 250_000], [1, 2]]), {}),  # tokens of a vocabulary
        (np.int32([-1, 250_000]), {}),  # no ids
        (np.int32([0, 250_000]), {"classes": 250_001}),  # the data themselves say so
    ],
)
def test_that_what_is_no_id_of_a_sample_is_not_judged(y, stated):
    assert not target(y, **stated).sparse


def test_that_splits_count_together():
    ids = np.arange(200, dtype=np.int32)
    parts = [Split(np.zeros((len(each), 1)), each) for each in (ids[40:], ids[:40])]
    assert not target_of([*parts, None]).sparse
    assert target_of([parts[1], Split(np.zeros((1, 1)), ids[-1:])]).sparse


def test_that_missing_classes_are_not_told_of_values(tmp_path):
    rows = [f"{n},{1000 * n}" for n in range(1, 40)]
    (tmp_path / "homes.csv").write_text("\n".join(["size,price", *rows]))
    options = {"targets": ["price"]}
    found, mended = (
        load_data(Data(table="homes.csv", options=options | more), 1, tmp_path)
        for more in ({}, {"values": ["price"]})
    )
    assert (found.outputs, found.target.sparse, found.notes) == (39_001, True, ())
    assert (mended.outputs, mended.target.sparse, mended.task) == (1, False, "values")
    assert facts_of(found).targets[0].target == found.target


@pytest.mark.parametrize(
    ("y", "between"),
    [
        (np.int32([1, 2, 2]), (1, 2)),
        (np.float32([-1, 1]), (-1, 1)),
        (np.uint8([[0, 255]]), (0, 255)),
        (np.array([False, True]), (0, 1)),
    ],
)
def test_that_it_is_known_between_what_numbers_targets_are(y, between):
    found = target(y)
    assert (found.lowest, found.highest) == between
