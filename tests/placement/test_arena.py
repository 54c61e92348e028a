"""What an allocator gives out for what it is asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.placement.arena import UNIT, Arena, requested
from gpu_studio.placement.liveness import MemoryChange, MemoryHistory, Size, block_of

KIB, MIB = 1024, 2**20


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
        arena.take(1, 10 * MIB)
    assert (grown.used, one.used) == (16 * MIB, 10 * MIB)


def test_that_a_region_is_twice_the_last_unless_that_was_made_larger_for_what_was_asked() -> None:
    def filling(*sizes: int) -> int:
        """What the last of so many MiB is given; more than half of its region is all of it."""
        arena = Arena(grows=True)
        for number, size in enumerate(sizes):
            before = arena.used
            arena.take(number, size * MIB)
        return (arena.used - before) // MIB

    assert [filling(2), filling(2, 3), filling(2, 4, 5)] == [2, 4, 8]
    assert filling(10, 9) == 16


def test_that_what_is_in_pieces_finds_room_where_it_would_have_none_in_one() -> None:
    arena = Arena(grows=False)
    for number in range(6):
        arena.take(number, KIB)
    for number in (0, 2, 4):
        arena.give_back(number)
    end = arena.end
    arena.take(9, 3 * KIB, pieces=3)
    assert (arena.used, arena.end) == (6 * KIB, end)
    arena.give_back(9)
    assert arena.used == 3 * KIB


@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.booleans()), min_size=1, max_size=60),
    st.booleans(),
)
def test_that_no_less_is_given_out_than_asked_nor_twice_as_much_and_all_comes_back(
    sizes, grows
) -> None:
    arena, asked = Arena(grows=grows), {}
    for number, (size, goes) in enumerate(sizes):
        arena.take(number, size)
        asked[number] = -(-size // UNIT) * UNIT
        if goes:
            arena.give_back(number // 2) if number // 2 in asked and asked.pop(
                number // 2
            ) else None
        assert sum(asked.values()) <= arena.used <= 2 * sum(asked.values())
    for number in asked:
        arena.give_back(number)
    assert arena.used == 0


def test_that_the_most_given_out_in_a_step_is_told_and_its_rest_is_given_back() -> None:
    arena = Arena(grows=False)
    arena.take(-1, KIB)
    changes = [
        MemoryChange(0, Size(KIB), True),
        MemoryChange(1, Size(0, KIB), True),
        MemoryChange(0, Size(KIB), False),
    ]
    assert arena.peak(requested(step(changes), batch=3)) == 4 * KIB
    assert arena.used == KIB


def test_that_a_variable_stays_where_a_step_has_moved_it() -> None:
    arena = Arena(grows=False)
    arena.take(block_of(0), KIB)
    new, old = MemoryChange(0, Size(KIB), True), MemoryChange(block_of(0), Size(KIB), False)
    for _ in range(2):
        assert arena.peak(requested(step([new, old], moved={0: 0}), batch=1)) == KIB
        assert arena.used == KIB
    assert arena.peak(requested(step([], moved={}), batch=1)) == 0
    arena.give_back(block_of(0))
    assert arena.used == 0


def step(changes: list[MemoryChange], moved: dict[int, int] | None = None) -> MemoryHistory:
    return MemoryHistory([], changes, moved or {}, frozenset())
