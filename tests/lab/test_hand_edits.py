"""Edits of operations that are placed by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.lab.benchmarks import BenchmarkError
from gpu_studio.lab.hand_edits import added, changed, moved, read, suggested, without, written
from gpu_studio.lab.hand_placement import HandPlacement, classic, problems

TWO = classic(["GPU:0", "GPU:1"])


def texts(placement: HandPlacement) -> list[str]:
    return [str(one) for one in placement.operations]


def test_that_an_operation_is_moved_and_nothing_else():
    after = moved(TWO, "total", "GPU:1")
    assert texts(after) == [*texts(TWO)[:2], "total=add(product_0, product_1)@GPU:1"]
    assert str(moved(TWO, "total", "").operations[-1]) == "total=add(product_0, product_1)"
    assert moved(TWO, "none", "GPU:1") == TWO


def test_that_what_took_a_result_that_is_gone_takes_what_is_made_up():
    assert texts(without(TWO, "product_0")) == [
        "product_1=matmul@GPU:1",
        "total=add(product_1)@CPU:0",
    ]


def test_that_an_operation_is_added_at_the_end_and_may_take_all_before_it():
    assert str(added(TWO, "r=relu(total)@GPU:0").operations[-1]) == "r=relu(total)@GPU:0"
    for text in ("r=relu(r)", "total=relu", "r=sing", "nonsense"):
        with pytest.raises(BenchmarkError):
            added(TWO, text)


def test_that_who_took_the_result_of_a_changed_operation_still_does():
    after = changed(TWO, "product_0", "first=relu@CPU:0")
    assert texts(after) == [
        "first=relu@CPU:0",
        "product_1=matmul@GPU:1",
        "total=add(first, product_1)@CPU:0",
    ]
    with pytest.raises(BenchmarkError, match="no operation before it"):
        changed(TWO, "product_0", "first=relu(total)")


def test_that_a_further_operation_has_a_name_that_is_free():
    one = suggested(TWO, ["GPU:0"])
    assert one == "a=matmul@GPU:0"
    assert suggested(added(TWO, one), []) == "b=matmul@CPU:0"


@given(soft=st.booleans(), side=st.integers(1, 16384), count=st.integers(1, 6))
def test_that_a_placement_comes_back_as_it_was_written(soft, side, count):
    placement = classic([f"GPU:{n}" for n in range(count)], side, soft_placement=soft)
    assert read(written(placement)) == placement
    assert problems(placement) == []


@pytest.mark.parametrize("bad", [(), ("nonsense",), ("a=matmul", "side x"), ("a=add(b)",)])
def test_that_what_was_written_by_hand_and_is_none_counts_as_none(bad):
    assert read(bad) is None
