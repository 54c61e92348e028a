"""What an allocator gives out for what it is asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.placement.arena import LARGEST_REST, Arena, cut_to_size, requested
from gpu_studio.placement.liveness import MemoryChange, MemoryHistory, Size, block_of
from gpu_studio.placement.step_memory import UNIT

KIB, MIB = 1024, 2**20


def in_one_region() -> Arena:
    """An arena that has had to take more than any test asks of it, all of which is free again."""
    arena = Arena()
    arena.take(0, 2**50)
    arena.give_back(0)
    return arena


def test_that_a_block_is_cut_only_where_that_leaves_as_much_again() -> None:
    arena = in_one_region()
    arena.take(1, 4 * KIB)
    arena.take(2, KIB)  # keeps the first from being joined with what lies behind it
    arena.give_back(1)
    arena.take(3, 3 * KIB)
    assert arena.used == 4 * KIB + KIB
    arena.give_back(3)
    arena.take(4, 2 * KIB)
    assert arena.used == 2 * KIB + KIB


def test_that_free_neighbours_are_joined() -> None:
    arena = Arena()
    for number in range(4):
        arena.take(number, 256 * KIB)
    for number in (1, 0, 2, 3):
        arena.give_back(number)
    arena.take(9, 1024 * KIB)
    assert arena.used == 1024 * KIB


def test_that_memory_that_grows_gives_a_whole_region_to_what_fills_more_than_half_of_it() -> None:
    grown, one = Arena(), in_one_region()
    for arena in (grown, one):
        arena.take(1, 10 * MIB)
    assert (grown.used, one.used) == (16 * MIB, 10 * MIB)


def test_that_a_region_is_twice_the_last_unless_that_was_made_larger_for_what_was_asked() -> None:
    def filling(*sizes: int) -> int:
        """What the last of so many MiB is given; more than half of its region is all of it."""
        arena = Arena()
        for number, size in enumerate(sizes):
            before = arena.used
            arena.take(number, size * MIB)
        return (arena.used - before) // MIB

    assert [filling(2), filling(2, 3), filling(2, 4, 5)] == [2, 4, 8]
    assert filling(10, 9) == 16


def test_that_what_is_in_pieces_finds_room_where_it_would_have_none_in_one() -> None:
    arena = in_one_region()
    for number in range(6):
        arena.take(number, KIB)
    for number in (0, 2, 4):
        arena.give_back(number)
    end = arena.end
    assert peak(arena, [MemoryChange(9, Size(3 * KIB, pieces=3), True)]) == 3 * KIB
    assert (arena.used, arena.end) == (3 * KIB, end)


@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.booleans()), min_size=1, max_size=60),
    st.booleans(),
)
def test_that_no_less_is_given_out_than_asked_nor_twice_as_much_and_all_comes_back(
    sizes, grows
) -> None:
    arena, asked = Arena() if grows else in_one_region(), {}
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
    arena = in_one_region()
    arena.take(-1, KIB)
    changes = [
        MemoryChange(0, Size(KIB), True),
        MemoryChange(1, Size(0, KIB), True),
        MemoryChange(0, Size(KIB), False),
    ]
    assert peak(arena, changes, batch=3) == 4 * KIB
    assert arena.used == KIB


def test_that_a_variable_stays_where_a_step_has_moved_it() -> None:
    arena = in_one_region()
    arena.take(block_of(0), KIB)
    new, old = MemoryChange(0, Size(KIB), True), MemoryChange(block_of(0), Size(KIB), False)
    for _ in range(2):
        assert peak(arena, [new, old], moved={0: 0}) == KIB
        assert arena.used == KIB
    assert peak(arena, []) == 0
    arena.give_back(block_of(0))
    assert arena.used == 0


def peak(
    arena: Arena,
    changes: list[MemoryChange],
    *,
    moved: dict[int, int] | None = None,
    batch: int = 1,
) -> int:
    step = requested(MemoryHistory([], changes, moved or {}, frozenset()))
    return arena.peak(step, step.units(batch))


def test_that_what_cuts_to_size_gives_out_the_most_that_is_asked_at_once_in_any_step() -> None:
    first = [
        MemoryChange(0, Size(0, 100), True),  # 700 bytes of seven samples: three units
        MemoryChange(1, Size(1000, pieces=2), True),
        MemoryChange(0, Size(0, 100), False),
    ]
    new, old = MemoryChange(0, Size(10), True), MemoryChange(block_of(0), Size(10), False)
    runs = [MemoryHistory([], each, {}, frozenset()) for each in (first, [new, old], [])]
    most = cut_to_size(runs)
    assert (most(7), most(1)) == ((3 + 2 * 2) * UNIT, (1 + 2 * 2) * UNIT)
    assert cut_to_size(runs[1:])(7) == UNIT
    assert cut_to_size([])(7) == 0


class PlainAllocator:
    """The same rules, written for the eye: all blocks by address, looked through each time."""

    def __init__(self, region: int) -> None:
        self.blocks: list[tuple[int, int, object]] = [(0, region, None)]

    @property
    def used(self) -> int:
        return sum(size for _, size, owner in self.blocks if owner is not None)

    def take(self, owner: object, units: int) -> None:
        size, place = min((s, p) for p, s, o in self.blocks if o is None and s >= units)
        self.blocks.remove((place, size, None))
        cut = units if size - units >= min(units, LARGEST_REST) else size
        self.blocks += [(place, cut, owner)]
        if cut < size:
            self.blocks += [(place + cut, size - cut, None)]
        self.blocks.sort(key=lambda block: block[0])

    def give_back(self, owner: object) -> None:
        joined: list[tuple[int, int, object]] = []
        for place, size, whose in self.blocks:
            free = None if whose == owner else whose
            if free is None and joined and joined[-1][2] is None:
                joined[-1] = joined[-1][0], joined[-1][1] + size, None
            else:
                joined.append((place, size, free))
        self.blocks = joined


SIZES = st.builds(
    lambda size, pieces: Size(size, pieces=pieces),
    st.sampled_from([1, 200, 300, 900, 5_000, 2**27, 2**28 + 2**20]),
    st.sampled_from([1, 1, 3]),
)


@st.composite
def steps(draw) -> list[tuple[list[MemoryChange], dict[int, int]]]:
    """Steps one after the other, in which blocks come and go and variables move."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        changes: list[MemoryChange] = []
        held: dict[int, Size] = {}
        for _ in range(draw(st.integers(1, 25))):
            if held and draw(st.booleans()):
                number = draw(st.sampled_from(sorted(held)))
                changes.append(MemoryChange(number, held.pop(number), False))
            else:
                size = draw(SIZES)
                held[len(changes)] = size
                changes.append(MemoryChange(len(changes), size, True))
        whole = [number for number, size in held.items() if size.pieces == 1]
        moved = {variable: whole.pop() for variable in (0, 1) if whole and draw(st.booleans())}
        freed = [variable for variable in moved if draw(st.booleans())]
        changes += [MemoryChange(block_of(variable), Size(1), False) for variable in freed]
        found.append((changes, moved))
    return found


@given(steps())
def test_that_a_step_in_few_turns_takes_what_each_request_in_its_turn_takes(drawn) -> None:
    arena, plain = in_one_region(), PlainAllocator(2**60)
    for variable in (0, 1):
        arena.take(block_of(variable), 10_000)
        plain.take((block_of(variable), 0), 40)
    for changes, moved in drawn:
        before, most = plain.used, plain.used
        held, stale = dict[int, int](), {block_of(variable) for variable in moved}
        for number, size, taken in changes:
            for piece in range(size.pieces):
                if taken:
                    plain.take((number, piece), max(1, -(-size.fixed // (size.pieces * UNIT))))
                    held[number] = size.pieces
                else:
                    plain.give_back((number, piece))
                    held.pop(number, None)
            stale -= set() if taken else {number}
            most = max(most, plain.used)
        for variable, block in moved.items():
            if block_of(variable) in stale:
                plain.give_back((block_of(variable), 0))
            plain.blocks = [
                (place, size, (block_of(variable), 0) if owner == (block, 0) else owner)
                for place, size, owner in plain.blocks
            ]
            del held[block]
        for number, pieces in held.items():
            for piece in range(pieces):
                plain.give_back((number, piece))
        assert peak(arena, changes, moved=moved) == (most - before) * UNIT
        assert arena.used == plain.used * UNIT
        copied = arena.copy()
        assert copied.layout == arena.layout
        arena = copied


def test_that_a_region_may_be_added_or_never_have_been_if_nothing_of_it_is_allocated() -> None:
    arena = Arena()
    arena.take(1, MIB)
    arena.take(2, 3 * MIB)  # which gets all of the second region
    assert arena.end == (2 + 4) * MIB
    assert not arena.drop_region()
    assert arena.end == (2 + 4) * MIB
    arena.give_back(2)
    assert arena.drop_region()
    assert (arena.end, arena.used, arena.most) == (2 * MIB, MIB, 5 * MIB)
    arena.take(3, 3 * MIB)
    assert arena.end == (2 + 4) * MIB
    arena.add_region()
    assert (arena.end, arena.used) == ((2 + 4 + 8) * MIB, 5 * MIB)


def test_that_no_region_is_dropped_where_smaller_ones_were_left_out() -> None:
    arena = Arena()
    arena.take(1, 20 * MIB)
    arena.give_back(1)
    assert arena.end == 32 * MIB
    assert not arena.drop_region()
