"""What an allocator gives out for what it is asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.placement.arena import UNIT, Arena
from gpu_studio.placement.liveness import Change, Size

KIB = 1024


def test_that_a_block_is_cut_only_where_that_leaves_as_much_again() -> None:
    arena = Arena(grows=False)
    arena.take(1, 4 * KIB)
    arena.take(2, KIB)  # keeps the first from being joined with what lies behind it
    arena.give_back(1)
    arena.take(3, 3 * KIB)
    assert arena.used == 4 * KIB + KIB
    arena.give_back(3)
    arena.take(4, 2 * KIB)
    assert arena.used == 2 * KIB + KIB


def test_that_free_neighbours_are_joined() -> None:
    arena = Arena(grows=True)
    for number in range(4):
        arena.take(number, 256 * KIB)
    for number in (1, 0, 2, 3):
        arena.give_back(number)
    arena.take(9, 1024 * KIB)
    assert arena.used == 1024 * KIB


def test_that_memory_that_grows_gives_a_whole_region_to_what_fills_more_than_half_of_it() -> None:
    grown, one = Arena(grows=True), Arena(grows=False)
    for arena in (grown, one):
        arena.take(1, 10 * 1024 * KIB)
    assert (grown.used, one.used) == (16 * 1024 * KIB, 10 * 1024 * KIB)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.booleans()), min_size=1, max_size=60), st.booleans())
def test_that_no_less_is_given_out_than_asked_nor_twice_as_much_and_all_comes_back(sizes, grows) -> None:
    arena, asked = Arena(grows=grows), {}
    for number, (size, goes) in enumerate(sizes):
        arena.take(number, size)
        asked[number] = -(-size // UNIT) * UNIT
        if goes:
            arena.give_back(number // 2) if number // 2 in asked and asked.pop(number // 2) else None
        assert sum(asked.values()) <= arena.used <= 2 * sum(asked.values())
    for number in asked:
        arena.give_back(number)
    assert arena.used == 0


def test_that_the_most_given_out_in_a_step_is_told_and_its_rest_is_given_back() -> None:
    arena = Arena(grows=False)
    arena.take(-1, KIB)
    step = [Change(0, Size(KIB), True), Change(1, Size(0, KIB), True), Change(0, Size(KIB), False)]
    assert arena.peak(step, batch=3) == 4 * KIB
    assert arena.used == KIB
