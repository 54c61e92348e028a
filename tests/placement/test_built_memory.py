"""The memory that building a model leaves to its steps."""

from __future__ import annotations

import pytest

from gpu_studio.placement.arena import Arena
from gpu_studio.placement.built_memory import LOOKED_AT, built, either_way, looked
from gpu_studio.placement.liveness import Operation, Size, Variable
from gpu_studio.placement.step_memory import UNIT

MIB = 2**20
SIDE = 64 * 1024
"""Bytes of a weight matrix."""
CONSTANTS = 2 * UNIT


def reading(number: int, *, drawn: bool = True, size: int = SIDE) -> Operation:
    return Operation(makes=((100 + number, Size()),), reads=Variable(number, size, drawn=drawn))


def of_layers(count: int) -> list[Operation]:
    """Layers that read one weight each; each takes what the layer before it makes."""
    steps = [Operation(makes=((0, Size(0, 4)),))]
    for number in range(count):
        take = Operation(takes=(number, 100 + number), makes=((number + 1, Size(0, 4)),))
        steps += [reading(number), take]
    return steps


def used(operations: list[Operation], outputs: list[int], *, loaded: bool = False) -> int:
    look = looked(operations, outputs)
    return built(operations, look, LOOKED_AT, loaded=loaded).used


def test_that_a_weight_that_is_drawn_leaves_the_bounds_between_which_it_was() -> None:
    assert used(of_layers(1), [1]) == SIDE + CONSTANTS
    assert used(of_layers(2), [1, 2]) <= 2 * SIDE + CONSTANTS + SIDE


def test_that_slots_fall_into_the_gaps_that_drawing_left_whole_if_they_are_cut_by_a_little() -> (
    None
):
    """Seen on a card: slots of 1.3 MiB in a gap of a little less than two of them, all theirs."""
    slots = [reading(10, drawn=False), reading(11, drawn=False)]
    bare = used(of_layers(1), [1])
    both = used([*of_layers(1), *slots], [1])
    assert 2 * SIDE < both - bare < 3 * SIDE


def test_that_the_model_is_looked_at_operation_by_operation() -> None:
    """Outside of a graph an operation never takes its input's memory for what it makes."""
    first = Operation(makes=((0, Size(0, 1000)),))
    second = Operation(takes=(0,), makes=((1, Size(0, 1000)),), overwrites=True)
    look = looked([first, second], [1])
    assert max(moment.per_sample for moment in look.moments) == 2000


def test_that_a_look_at_fewer_samples_leaves_less_memory() -> None:
    layer = [Operation(makes=((0, Size(0, MIB)),))]
    look = looked(layer, [0])
    ends = [built(layer, look, samples, loaded=False).end for samples in (1, 4, LOOKED_AT)]
    assert ends == sorted(set(ends))


def test_that_loaded_weights_are_all_there_once() -> None:
    drawn, loaded = (used(of_layers(3), [1, 2, 3], loaded=loaded) for loaded in (False, True))
    assert min(drawn, loaded) >= 3 * SIDE


@pytest.mark.parametrize(
    ("asked", "regions"),
    [
        ([MIB], [2]),
        ([2 * MIB - UNIT], [2, 6]),  # full but for a little
        ([2 * MIB, UNIT], [6, 2]),  # the last one was needed for a little
        ([2 * MIB, MIB], [6]),
    ],
)
def test_that_memory_may_be_left_otherwise_where_a_little_decides(asked, regions) -> None:
    arena = Arena()
    for number, size in enumerate(asked):
        arena.take(number, size)
    for number, _ in enumerate(asked):
        arena.give_back(number)
    assert [way.end for way in either_way(arena)] == [region * MIB for region in regions]
    assert arena.end == regions[0] * MIB
