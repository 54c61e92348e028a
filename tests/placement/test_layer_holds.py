"""What a card holds while a layer is computed."""

from __future__ import annotations

from gpu_studio.placement.layer_holds import held_around
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
    assert (found.beside, found.scratch) == (4 + 4 + 4, 7)


def test_that_the_batch_and_what_layers_before_keep_count_elsewhere() -> None:
    step = StepGraph(FAN, results=(2, 3), given=frozenset({0}), kept=frozenset({1}))
    layers, keeping = ["first", "", "second"], {"first": 4, "second": 0}
    found = held_around(step, FAN, layers, keeping)
    assert found["first"].around == 4 + 1 - 0
    assert found["second"].around == 4 + 4 + 1 - 4
    assert found["second"].passing == 4 + 1
