"""What a card holds while a layer is computed."""

from __future__ import annotations

from gpu_studio.placement.layer_holds import LayerHolds, held_around, outliving
from gpu_studio.placement.liveness import Operation, Size, StepGraph

FAN = (
    Operation(makes=((0, Size(0, 4)), (1, Size(0, 4)))),
    Operation(takes=(0,), makes=((2, Size(0, 1)),)),
    Operation(takes=(1,), makes=((3, Size(0, 4)),), scratch=Size(7)),
)
"""Two tensors; what is made of the first is small, and of the second as large as it."""


def test_that_the_fullest_of_several_orders_counts_for_what_is_held_around_a_layer() -> None:
    """What becomes ready together comes in an order that nobody knows before."""
    found = held_around(StepGraph(FAN, results=(2, 3)), FAN, ["layer"] * 3, {})["layer"]
    # In their own order the first of the pair is gone when the largest is made.
    assert (found.passing, found.around) == (4 + 4 + 4, 4 + 4 + 4)
    assert found.kernels == ((4 + 4 + 4, 7),)


def test_that_the_batch_and_what_layers_before_keep_count_elsewhere() -> None:
    step = StepGraph(FAN, results=(2, 3), given=frozenset({0}), kept=frozenset({1}))
    layers, keeping = ["first", "", "second"], {"first": 4, "second": 0}
    found = held_around(step, FAN, layers, keeping)
    assert found["first"].around == 4 + 1 - 0
    assert found["second"].around == 4 + 4 + 1 - 4
    assert found["second"].passing == 4 + 1


def test_that_kernels_beside_which_another_needs_more_are_left_out() -> None:
    found = LayerHolds()
    for around, scratch in ((100, 90), (50, 80), (300, 20), (200, 20), (400, 0)):
        found.note(0, around, scratch)
    assert found.kernels == ((100, 90), (300, 20))
    assert found.around == 400


def test_that_what_comes_back_to_a_layer_may_be_held_until_all_of_its_way_back_is_through() -> None:
    """Alone, what it makes of it takes its place."""
    back = (
        Operation(makes=((0, Size(0, 4)),)),
        Operation(takes=(0,), makes=((1, Size(0, 4)),), overwrites=True),
        Operation(takes=(1,), makes=((2, Size(0, 3)),)),
    )
    layers, keeping = ["last", "first", "first"], {"first": 0, "last": 0}
    alone = held_around(StepGraph(back, results=(2,)), back, layers, keeping)
    later = outliving(back, layers, [True] * 3)
    step = StepGraph([*back, *later], results=(2,))
    late = held_around(step, back, layers, keeping, later)
    assert (alone["first"].around, late["first"].around) == (4 + 3, 4 + 4 + 3)
    assert (alone["first"].grown(late["first"]), alone["last"].grown(late["last"])) == (4, 0)
