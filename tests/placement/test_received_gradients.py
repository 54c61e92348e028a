"""What is held around a layer where what comes back to it comes from another card."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_studio.placement.layer_holds import LayerHolds, held_around
from gpu_studio.placement.liveness import Operation, Size, StepGraph
from gpu_studio.placement.received_gradients import ReceivedGradients

Held = dict[str, LayerHolds]


def held(
    operations: Sequence[Operation], layers: Sequence[str], results: Sequence[int]
) -> tuple[Held, Held, Held]:
    """What is held around the layers on one card, where it comes from others, and with threads
    behind; all go back."""
    step, keeping = StepGraph(operations, results=results), dict.fromkeys(layers, 0)
    came = ReceivedGradients(operations, layers, [bool(each) for each in layers])
    late, behind = (
        held_around(step, operations, layers, keeping, orders=orders, still=still)
        for orders, still in (
            (came.orders(), came.still),
            (came.orders_behind(), came.still_behind),
        )
    )
    return held_around(step, operations, layers, keeping), late, behind


def test_that_what_comes_back_to_a_layer_may_be_held_until_all_of_its_way_back_is_through() -> None:
    """Alone, what it makes of it takes its place."""
    back = (
        Operation(makes=((0, Size(0, 4)),)),
        Operation(takes=(0,), makes=((1, Size(0, 4)),), overwrites=True),
        Operation(takes=(1,), makes=((2, Size(0, 3)),)),
    )
    alone, late, _ = held(back, ["last", "first", "first"], [2])
    assert (alone["first"].around, late["first"].around) == (4 + 3, 4 + 4 + 3)
    assert (alone["first"].grown(late["first"]), alone["last"].grown(late["last"])) == (4, 0)


def test_that_where_something_else_may_be_written_over_it_is_no_more_until_that_has_ended() -> None:
    """As of a relu: its output, which nobody else takes then, or the gradient."""
    back = (
        Operation(makes=((0, Size(0, 4)),)),
        Operation(makes=((1, Size(0, 4)),)),
        Operation(takes=(0, 1), makes=((2, Size(0, 4)),), overwrites=True),
        Operation(takes=(2,), makes=((3, Size(0, 1)),)),
    )
    alone, late, _ = held(back, ["relu", "last", "relu", "relu"], [3])
    assert (alone["relu"].around, late["relu"].around) == (4 + 4, 4 + 4 + 1)


def test_that_a_sum_of_what_several_layers_give_back_comes_from_them() -> None:
    """It is made in no layer: what was taken for nobody's was thought to be gone at once."""
    back = (
        Operation(makes=((0, Size(0, 4)),)),
        Operation(makes=((1, Size(0, 4)),)),
        Operation(takes=(0, 1), makes=((2, Size(0, 4)),), overwrites=True),
        Operation(takes=(2,), makes=((3, Size(0, 4)),), overwrites=True),
        Operation(takes=(3,), makes=((4, Size(0, 3)),)),
    )
    alone, late, _ = held(back, ["one", "other", "", "first", "first"], [4])
    assert (alone["first"].around, late["first"].around) == (4 + 3, 4 + 4 + 3)


def test_that_what_takes_a_received_gradient_may_fall_behind_and_begin_at_any_moment() -> None:
    """As the weights' gradient of an attention, in a thread of its own."""
    back = (
        Operation(makes=((0, Size(0, 4)),)),
        Operation(takes=(0,), makes=((1, Size(0, 4)),)),
        Operation(takes=(0,), makes=((2, Size(0, 5)),)),
        Operation(takes=(2,), makes=((3, Size(1)),)),
        Operation(takes=(1,), makes=((4, Size(0, 4)),)),
        Operation(takes=(4,), makes=((5, Size(0, 16)),)),
        Operation(takes=(5,), makes=((6, Size(0, 4)),)),
    )
    alone, late, behind = held(back, ["last", *["first"] * 6], [3, 6])
    assert (alone["first"].around, late["first"].around) == (4 + 16, 4 + 4 + 16)
    # The gradient waits for it, and what it makes may be there at the fullest moment.
    assert behind["first"].around == 4 + 5 + 4 + 16


def test_that_layers_side_by_side_may_go_back_one_after_the_other() -> None:
    """On one card all begin when what they join goes back; from others each begins by itself."""
    back = [Operation(makes=((0, Size(0, 1)), (1, Size(0, 1))))]
    for first in (0, 1):
        back += [
            Operation(takes=(first,), makes=((first + 2, Size(0, 1)),), overwrites=True),
            Operation(takes=(first + 2,), makes=((first + 4, Size(3)),), scratch=Size(90)),
            Operation(takes=(first + 2,), makes=((first + 6, Size(0, 8)),), after=(3 * first + 2,)),
        ]
    layers = ["last", "a", "a", "a", "b", "b", "b"]
    alone, late, _ = held(back, layers, [4, 5, 6, 7])
    (one,), (other,) = (alone[name].kernels(late[name]) for name in ("a", "b"))
    # Beside the kernel: its gradient, and what waits for the other one or what that has made.
    assert (one.beside, other.beside) == (1 + 1, 1 + 1)
    assert (one.outlived, other.outlived) == (8, 8)
