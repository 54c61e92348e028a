"""The moments of a step: whatever the batch, those that are kept tell the most that is held."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.placement.arena import Arena, given_for
from gpu_studio.placement.step_memory import (
    UNIT,
    MemoryMoment,
    Padding,
    SplitTurns,
    StepMemory,
    highest,
)

LINES = st.builds(MemoryMoment, fixed=st.integers(0, 10**9), per_sample=st.integers(0, 10**6))
BATCHES = st.integers(0, 10**5)


@given(st.lists(LINES, min_size=1, max_size=40), BATCHES)
def test_that_the_peak_is_that_of_all_moments(moments, batch) -> None:
    assert highest(moments).peak(batch) == max(moment.bytes(batch) for moment in moments)


@given(st.lists(LINES, min_size=1, max_size=40))
def test_that_each_moment_kept_is_steeper_and_lower_than_the_one_before(moments) -> None:
    kept = highest(moments).moments
    assert [moment.per_sample for moment in kept] == sorted({moment.per_sample for moment in kept})
    assert [moment.fixed for moment in kept] == sorted(
        {moment.fixed for moment in kept}, reverse=True
    )


def test_that_a_moment_that_is_never_the_fullest_is_forgotten() -> None:
    flat, middle, steep = MemoryMoment(10, 0), MemoryMoment(4, 1), MemoryMoment(0, 2)
    assert highest([steep, middle, flat]).moments == (flat, steep)


def test_that_the_fullest_moment_says_what_it_holds() -> None:
    early, late = MemoryMoment(100, 1, gradients=60), MemoryMoment(0, 9, kept=7)
    memory = highest([early, late])
    assert memory.fullest(1) == early
    assert memory.fullest(1000) == late


def test_that_no_moment_holds_nothing() -> None:
    assert StepMemory().peak(64) == 0


@given(st.integers(3, 8), st.integers(1, 5000), st.integers(1, 2000), st.integers(1, 60))
def test_that_a_turn_that_splits_a_tensor_wastes_what_an_allocator_gives_out_beyond_its_parts(
    parts, per_sample, batch, turns
) -> None:
    """One after the other takes the place of the tensor, as far as it goes."""
    split, size = SplitTurns(turns, parts, per_sample, margin=1.0), per_sample * batch
    arena = Arena()
    arena.take(0, 2**40)  # one region, of which everything later is a part
    arena.give_back(0)
    arena.take(0, UNIT)
    arena.take(1, parts * size)
    arena.take(2, UNIT)
    arena.give_back(1)
    for part in range(parts - 1):
        arena.take(3 + part, size)
    asked = 2 * UNIT + (parts - 1) * given_for(size)
    assert split.wasted(batch) == turns * (arena.used - asked)


def test_that_what_loops_waste_counts_for_each_batch_by_itself() -> None:
    lstm = SplitTurns(62, 4, 4 * 57)
    memory = StepMemory((MemoryMoment(0, 100),), (Padding(1, 1.0),), splits=(lstm,))
    assert lstm.wasted(41) == round(1.08 * 62 * 36 * UNIT)  # 36 of 37 units, in each turn
    assert memory.peak(41) == 4100 + lstm.wasted(41)
    assert lstm.wasted(64) == 0  # the parts are multiples of a unit
    assert memory.peak(64) == 6400


def test_that_between_batches_as_much_is_given_out_as_lies_on_the_line() -> None:
    memory = StepMemory(
        (MemoryMoment(0, 100),), (Padding(10, 2.0), Padding(20, 1.0), Padding(30, 1.2))
    )
    assert [memory.padded(batch) for batch in (1, 10, 20, 30, 99)] == [2.0, 2.0, 1.0, 1.2, 1.2]
    assert [memory.peak(batch) for batch in (10, 15, 20, 25, 30)] == [2000, 2000, 2000, 2800, 3600]


def test_that_from_one_batch_to_the_next_it_may_leap() -> None:
    memory = StepMemory((MemoryMoment(0, 100),), (Padding(200, 1.0), Padding(202, 1.5)))
    assert [memory.peak(batch) for batch in (200, 201, 202)] == [20000, 1.5 * 20200, 1.5 * 20200]
    assert [memory.peak(batch) for batch in (400, 402)] == [40000, 2 * 1.5 * 20200]


def test_that_a_large_batch_is_padded_as_half_of_it_unless_most_is_of_a_fixed_size() -> None:
    padding = tuple(
        Padding(batch, factor) for batch, factor in ((128, 1.1), (192, 1.4), (256, 1.2), (512, 1.0))
    )
    grows, fixed = (
        StepMemory((MemoryMoment(0, 100),), padding),
        StepMemory((MemoryMoment(10**9, 100),), padding),
    )
    assert [grows.padded(batch) for batch in (192, 384, 512, 768)] == [1.4, 1.4, 1.0, 1.4]
    assert [round(fixed.padded(batch), 3) for batch in (384, 768)] == [1.1, 1.0]
