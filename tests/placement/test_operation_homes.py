"""On whose cards the operations of a step run that are in no layer."""

from __future__ import annotations

from gpu_studio.placement.liveness import Operation, Size
from gpu_studio.placement.operation_homes import NOWHERE, homes_of


def made(*takes: int, makes: int, size: int = 40) -> Operation:
    return Operation(takes, ((makes, Size(0, size)),))


TRUNK_AND_HEADS = [
    made(makes=0),
    made(0, makes=1),
    made(0, makes=2),
    made(1, 2, makes=3),
    made(3, makes=4),
    made(4, makes=5),
    made(4, makes=6),
    made(5, 6, makes=7),
    made(7, makes=8),
]
"""Two heads take what a trunk makes; their gradients are added up, and go back through it."""
HEADS = ["trunk", "one", "two", "loss", "loss", "one", "two", "", "trunk"]
HEADS_BACK = [False] * 4 + [True] * 3 + [False, True]


def test_that_gradients_are_added_up_where_the_layer_is_whose_output_they_are_for() -> None:
    homes = homes_of(TRUNK_AND_HEADS, HEADS, HEADS_BACK)
    assert homes == [*(frozenset({each}) for each in HEADS[:7]), {"trunk"}, {"trunk"}]


RESIDUAL = [
    made(makes=0),
    made(0, makes=1),
    made(0, 1, makes=2),
    made(2, makes=3),
    made(2, 3, makes=4),
    made(4, makes=5),
    made(5, makes=6),  # what comes for the second sum, and goes on to both of its terms
    made(6, makes=7),
    made(6, 7, makes=8),  # the sum for the first one's output
    made(8, makes=9),
    made(8, 9, makes=10),  # the sum for the first layer's
    made(10, makes=11),
]
"""Two blocks whose sums have no operation on the way back."""
IN_BLOCKS = ["first", "one", "add", "two", "add_1", "last", "last", "two", "", "one", "", "first"]
BLOCKS_BACK = [False] * 6 + [True, True, False, True, False, True]


def test_that_a_layer_through_which_gradients_go_as_they_came_is_where_its_own_are_added_up() -> (
    None
):
    homes = homes_of(RESIDUAL, IN_BLOCKS, BLOCKS_BACK)
    assert (homes[8], homes[10]) == ({"add"}, {"first"})


def test_that_what_one_layer_adds_up_for_itself_is_with_it() -> None:
    within = [*TRUNK_AND_HEADS[:6], made(4, makes=6), made(5, 6, makes=7), made(7, makes=8)]
    layers = ["trunk", "one", "two", "loss", "loss", "one", "one", "", "one"]
    assert homes_of(within, layers, HEADS_BACK)[7] == {"one"}


def test_that_it_is_not_known_where_gradients_of_unlike_outputs_are_added_up() -> None:
    apart = [made(makes=0), made(makes=9), made(0, makes=1), made(9, makes=2)]
    run = [*apart, made(1, 2, makes=3), made(3, makes=4), made(4, makes=5), made(4, makes=6)]
    layers = ["trunk", "other", "one", "two", "loss", "loss", "one", "two"]
    run += [made(5, 6, makes=7), made(7, makes=8)]
    homes = homes_of(run, [*layers, "", "else"], [False] * 5 + [True] * 3 + [False, True])
    assert homes[8] == NOWHERE


def test_that_what_is_between_layers_is_with_those_that_make_or_take_it() -> None:
    run = [made(makes=0), made(0, makes=1), made(1, makes=2)]
    assert homes_of(run, ["one", "", "two"], [False] * 3)[1] == {"one", "two"}
