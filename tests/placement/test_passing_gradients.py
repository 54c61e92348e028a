"""Gradients that wait for others of the same output."""

from __future__ import annotations

from dataclasses import replace

from gpu_studio.placement.layer_holds import held_around
from gpu_studio.placement.liveness import Operation, Size, StepGraph
from gpu_studio.placement.passing_gradients import PassingGradients

TWO_HEADS = (
    Operation(makes=((0, Size(0, 1)), (1, Size(0, 1)))),
    Operation(takes=(0,), makes=((2, Size(0, 90)),)),
    Operation(takes=(1,), makes=((3, Size(0, 40)),)),
    Operation(takes=(3,), makes=((4, Size(0, 90)),)),
    Operation(takes=(2, 4), makes=((5, Size(0, 90)),), overwrites=True),
    Operation(takes=(5,), makes=((6, Size(3)),)),
)
"""The gradient of a trunk by one head waits for that by the other, which has a layer before it."""
LAYERS = ["", "far", "head", "near", "", "trunk"]
BACK = [False, *[True] * 5]


def passed(operations: tuple[Operation, ...], layer: str) -> frozenset[tuple[str, str]]:
    gradients = PassingGradients(operations, LAYERS, BACK)
    step, keeping = StepGraph(operations, results=[6]), dict.fromkeys(LAYERS, 0)
    held = held_around(step, operations, LAYERS, keeping, waiting=gradients.end)
    return held[layer].passed(gradients.sizes)


def test_that_a_layer_knows_what_waits_whenever_most_is_held_around_it() -> None:
    assert PassingGradients(TWO_HEADS, LAYERS, BACK).sizes == {
        ("far", "trunk"): 90,
        ("near", "trunk"): 90,
    }
    assert passed(TWO_HEADS, "near") == {("far", "trunk")}
    # Not of its own, nor of what it has made itself.
    assert passed(TWO_HEADS, "trunk") == passed(TWO_HEADS, "far") == frozenset()


def test_that_what_may_not_be_there_yet_when_most_is_held_is_not_known_to_pass() -> None:
    late = list(TWO_HEADS)
    late[1] = replace(late[1], after=(3,))
    assert passed(tuple(late), "near") == frozenset()


def test_that_what_another_layer_takes_as_well_waits_for_that() -> None:
    taken = list(TWO_HEADS)
    taken[3] = replace(taken[3], takes=(3, 2))
    found = PassingGradients(taken, LAYERS, BACK).sizes
    assert found == {("near", "trunk"): 90}


def test_that_small_gradients_are_not_looked_at() -> None:
    large = list(TWO_HEADS)
    large[2] = replace(large[2], makes=((3, Size(0, 90 * 64)),))
    assert PassingGradients(large, LAYERS, BACK).sizes == {}
