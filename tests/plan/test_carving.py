from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from made_machines import TWO_CARDS, WITHOUT_CARDS

from gpu_studio.plan import Card
from gpu_studio.plan.card_memory import OUTSIDE_MIB
from gpu_studio.plan.carving import CardSlices, capacity_mib, equal_slices
from gpu_studio.plan.starter import STEP_MIB

ROOM = 24_000
counts = st.integers(1, 8)
sizes = st.lists(st.integers(1, 30_000), min_size=1, max_size=8).map(tuple)


@st.composite
def cuts(draw) -> tuple[CardSlices, int]:
    """Slices, and one of them."""
    cut = CardSlices.of(draw(sizes))
    return cut, draw(st.integers(0, len(cut.sizes) - 1))


@given(counts)
def test_that_slices_of_the_cpu_have_no_limit(count: int) -> None:
    assert equal_slices("CPU:0", count, WITHOUT_CARDS) == (0,) * count


@given(count=counts, used=st.integers(0, 24_276))
def test_that_slices_are_equal_whole_steps_of_what_is_free(count: int, used: int) -> None:
    machine = replace(TWO_CARDS, cards=(replace(TWO_CARDS.cards[0], used_mib=used),))
    slices = equal_slices("GPU:0", count, machine)
    assert len(slices) == count
    assert len(set(slices)) == 1
    assert slices[0] % STEP_MIB == 0
    room = (machine.cards[0].free_mib or 0) - OUTSIDE_MIB
    assert sum(slices) <= max(room, count * STEP_MIB)
    assert room - sum(slices) < count * STEP_MIB


def test_that_a_card_whose_use_is_not_known_gets_the_smallest_slices() -> None:
    machine = replace(TWO_CARDS, cards=(replace(TWO_CARDS.cards[0], used_mib=None),))
    assert equal_slices("GPU:0", 2, machine) == (STEP_MIB, STEP_MIB)


def test_that_the_room_is_what_is_free_or_else_what_the_card_has() -> None:
    card = Card(0, "GPU-0", "Card", total_mib=8192, used_mib=500, reserved_mib=192)
    assert capacity_mib(card) == 7500
    assert capacity_mib(replace(card, used_mib=None)) == 8000
    assert capacity_mib(replace(card, total_mib=None)) is None


@given(cuts(), st.integers(-50_000, 50_000))
def test_that_moving_an_end_never_takes_more_than_there_is(
    chosen: tuple[CardSlices, int], size: int
) -> None:
    cut, index = chosen
    moved = cut.with_end(index, size, ROOM)
    assert sum(moved.sizes) <= max(ROOM, sum(cut.sizes))
    assert min(moved.sizes) >= 1
    assert moved.origins == cut.origins
    others = [place for place in range(len(cut.sizes)) if place not in (index, index + 1)]
    assert [moved.sizes[place] for place in others] == [cut.sizes[place] for place in others]


@given(cuts(), st.integers(1, 30_000))
def test_that_moving_an_inner_end_keeps_what_all_slices_have_together(
    chosen: tuple[CardSlices, int], size: int
) -> None:
    cut, index = chosen
    moved = cut.with_end(index, size, ROOM)
    if index + 1 < len(cut.sizes):
        assert sum(moved.sizes) == sum(cut.sizes)


def test_that_an_end_goes_where_it_is_moved_if_there_is_room() -> None:
    assert CardSlices.of((4096, 4096)).with_end(0, 1000, ROOM).sizes == (1000, 7192)
    assert CardSlices.of((4096, 4096)).with_end(1, 10_000, ROOM).sizes == (4096, 10_000)
    assert CardSlices.of((4096, 4096)).with_end(1, 90_000, ROOM).sizes == (4096, ROOM - 4096)
    assert CardSlices.of((1, 0)).with_end(0, 5, ROOM).sizes == (1, 0)


@given(cuts())
def test_that_merging_takes_a_split_back(chosen: tuple[CardSlices, int]) -> None:
    cut, index = chosen
    halves = cut.halved(index)
    assert len(halves.sizes) == len(cut.sizes) + 1
    assert sum(halves.sizes) == sum(cut.sizes)
    assert halves.merged(index) == cut


@given(cuts())
def test_that_halves_are_nearly_equal_and_whole_steps_where_they_can_be(
    chosen: tuple[CardSlices, int],
) -> None:
    cut, index = chosen
    first, second = cut.halved(index).sizes[index : index + 2]
    assert abs(first - second) <= (2 * STEP_MIB if cut.sizes[index] >= 2 * STEP_MIB else 1)
    assert first % STEP_MIB == 0 or cut.sizes[index] < 2 * STEP_MIB


@given(cuts())
def test_that_a_slice_more_comes_from_the_free_room_or_from_the_largest(
    chosen: tuple[CardSlices, int],
) -> None:
    cut, _ = chosen
    more = cut.with_another(ROOM, OUTSIDE_MIB)
    assert len(more.sizes) == len(cut.sizes) + 1
    assert more.origins.count(None) == 1
    assert sum(more.sizes) <= max(ROOM - OUTSIDE_MIB, sum(cut.sizes))
    if more.sizes[:-1] != cut.sizes:
        assert sum(more.sizes) == sum(cut.sizes)


@given(cuts())
def test_that_equal_slices_are_equal_and_lose_less_than_a_mib_each(
    chosen: tuple[CardSlices, int],
) -> None:
    cut, _ = chosen
    equal = cut.equalised()
    assert len(set(equal.sizes)) == 1
    assert 0 <= sum(cut.sizes) - sum(equal.sizes) < len(cut.sizes)


@given(cuts())
def test_that_each_slice_knows_which_it_was(chosen: tuple[CardSlices, int]) -> None:
    cut, index = chosen
    left = cut.without(index)
    assert [cut.sizes[origin] for origin in left.origins if origin is not None] == list(left.sizes)
