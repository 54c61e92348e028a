"""What layers hold on their way forward beyond what they keep, operation by operation."""

from __future__ import annotations

from gpu_studio.placement.liveness import Operation, Size
from gpu_studio.placement.way_forward import held_forward


def test_that_what_a_layer_takes_makes_and_does_not_keep_is_held_on_its_way_forward() -> None:
    """As a recurrent layer: of lists it makes its output, turns it and joins it."""
    operations = [
        Operation(makes=((0, Size(0, 100)),)),
        Operation((0,), ((1, Size(0, 1000)),)),
        Operation((1,), ((2, Size(0, 300)),)),
        Operation((2,), ((3, Size(0, 301)),)),
        Operation((3,), ((4, Size(0, 7)),)),
        Operation((1, 4), ((5, Size(0, 50)),)),
    ]
    layers = ["before", "loop", "loop", "loop", "behind", "loop"]
    backward = [False] * 5 + [True]
    found = held_forward(operations, layers, backward, {1})
    # Of the loop: what is turned beside what it is made from. The list is kept.
    beyond = {layer: each.beyond for layer, each in found.items()}
    assert beyond == {"before": 100, "loop": 601, "behind": 301 + 7}
    # What the backward pass needs of it waits, and is no more than it keeps.
    assert held_forward(operations, layers, backward, {1, 3})["loop"].beyond == 300
    # The batch, or what another layer keeps, is counted elsewhere.
    assert held_forward(operations, layers, backward, {0, 1, 3})["behind"].beyond == 7
    large = [Operation(makes=((0, Size(0, 900)),)), *operations[1:]]
    assert held_forward(large, layers, backward, {1})["loop"].beyond == 900


def test_that_nothing_is_written_over_what_is_used_later_and_nothing_taken_counts_twice() -> None:
    def held(*, again: bool, kept: frozenset[int] = frozenset()) -> int:
        operations = [
            Operation(makes=((0, Size(0, 100)),)),
            Operation((0,), ((1, Size(0, 100)),), shares=True),
            Operation((0, 1), ((2, Size(0, 100)),), overwrites=True),
            Operation((2,), ((3, Size(0, 100)),), overwrites=True),
            Operation((2, 3) if again else (3,), ((4, Size(0, 1)),)),
        ]
        layers = ["before", "between", "layer", "layer", "behind"]
        return held_forward(operations, layers, [False] * 5, kept)["layer"].beyond

    assert held(again=False) == 200
    assert held(again=True) == 200
    assert held(again=False, kept=frozenset({0})) == 100
    assert held(again=True, kept=frozenset({0})) == 200


def test_that_what_a_layer_takes_is_gone_on_another_card_when_it_makes_what_it_keeps() -> None:
    """As a maximum: where it is, in a byte each, then as numbers, which its gradient needs."""
    operations = [
        Operation(makes=((0, Size(0, 100)),)),
        Operation((0,), ((1, Size(0, 1)),)),
        Operation((0, 1), ((2, Size(0, 25)),)),
        Operation((2,), ((3, Size(0, 100)),)),
        Operation((1,), ((4, Size(0, 1)),)),
        Operation((3, 4), ((5, Size(0, 100)),)),
        Operation((0, 5), ((6, Size(0, 100)),)),
    ]
    layers = ["before", "max", "max", "max", "behind", "max", "before"]
    backward = [False] * 5 + [True] * 2

    def let_go(run: list[Operation]) -> int:
        return held_forward(run, layers, backward, {0, 1, 3})["max"].let_go

    assert let_go(operations) == 100 + 100 + 1 - (100 + 25 + 1)
    # It stays where its own gradient needs it, or another layer on the same card may take it.
    needed = Operation((0, 3, 4), ((5, Size(0, 100)),))
    assert let_go([*operations[:5], needed, operations[6]]) == 0
    taken = Operation((0, 1), ((4, Size(0, 1)),))
    assert let_go([*operations[:4], taken, *operations[5:]]) == 0
    # Nothing is written over it: it is in the hands of the thread that received it.
    over = Operation((0, 1), ((3, Size(0, 100)),), overwrites=True)
    assert (
        let_go([*operations[:2], Operation((1,), ((2, Size(0, 25)),)), over, *operations[4:]]) == 0
    )


def test_that_where_nothing_is_kept_only_what_is_passed_on_outlasts_a_layer() -> None:
    """As gelu's: its gradient reads what the layer made first, which is gone if not kept."""
    operations = [
        Operation(makes=((0, Size(0, 100)),)),
        Operation((0,), ((1, Size(0, 400)),)),
        Operation((1,), ((2, Size(0, 400)),)),
        Operation((1, 2), ((3, Size(0, 400)),), overwrites=True),
        Operation((3,), ((4, Size(0, 400)),)),
        Operation((4,), ((5, Size(0, 7)),)),
        Operation((1, 2, 5), ((6, Size(0, 100)),)),
    ]
    layers = ["before", "layer", "layer", "layer", "layer", "behind", "layer"]
    backward = [False] * 6 + [True]
    found = held_forward(operations, layers, backward, {1, 2})["layer"]
    # Two tensors at once, of which one is written over; what it takes is gone by then.
    assert found.made == 800 - 100
