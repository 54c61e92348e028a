"""Steps whose gradients are summed over cards: what their memory holds."""

from __future__ import annotations

from gpu_studio.placement.exchange import GATHERED, gathering, reading, sending
from gpu_studio.placement.liveness import Operation, Size, Variable
from gpu_studio.placement.rehearsal import TensorKinds, on_card
from gpu_studio.placement.step_memory import ON_CARD

MIB = 2**20
NEEDED = 10 * MIB
FAR, NEAR = Variable(0, MIB), Variable(1, MIB)
STEP = (
    Operation(makes=((10, Size(MIB)),)),  # the gradients of the layer that is next to the loss
    *(Operation(after=(place,)) for place in range(8)),  # then the way back to the one before it
    Operation(makes=((11, Size(MIB)),), after=(8,), scratch=Size(NEEDED)),
    Operation(takes=(10,), makes=((12, Size(MIB)),)),
    Operation(takes=(10, 12), writes=NEAR),
    Operation(takes=(11,), writes=FAR),
)
"""Two layers: the update of the near one needs memory, as does the way back of the far one."""
GRADIENTS = frozenset({10, 11})


def test_that_the_gradients_of_all_others_are_there_while_a_card_computes_its_own() -> None:
    step = gathering(STEP, GRADIENTS)
    memory = on_card(step.operations, TensorKinds(), step.received)
    own, others = 2 * MIB, 2 * (GATHERED - 1) * MIB
    assert memory.asked(1) == NEEDED + own + others


def test_that_an_update_may_run_beside_the_way_back_of_other_layers() -> None:
    alone = on_card(STEP, TensorKinds())
    step = sending(STEP, GRADIENTS)
    memory = on_card(step.operations, TensorKinds(), step.received)
    # The sum of the near layer has come back, and its update has begun.
    assert memory.asked(1) == NEEDED + 3 * MIB
    assert memory.asked(1) >= alone.asked(1)
    assert memory.peak(1) == round(ON_CARD * memory.asked(1))


def test_that_all_sums_may_wait_for_their_updates_beside_the_fullest_kernel() -> None:
    """Seen in a trace: a residual net's first layer went back beside the sums of seventeen."""
    layers = 30
    back = [
        Operation(makes=((place, Size(MIB)),), after=(place - 1,)) for place in range(1, layers)
    ]
    first = Operation(makes=((0, Size(MIB)),))
    last = Operation(makes=((layers, Size(MIB)),), after=(layers - 1,), scratch=Size(NEEDED))
    updates = [Operation(takes=(x,), writes=Variable(x, MIB)) for x in range(layers + 1)]
    step = sending((first, *back, last, *updates), frozenset(range(layers + 1)))
    drawn, late = (
        on_card(step.operations, TensorKinds(), step.received, late=late) for late in (False, True)
    )
    # Those of all layers behind it, and the gradient that it makes.
    assert late.asked(1) == NEEDED + (layers + 1) * MIB > drawn.asked(1)


def test_that_a_gradient_is_gone_when_it_is_sent_and_its_sum_when_it_is_applied() -> None:
    for step in (sending(STEP, GRADIENTS), gathering(STEP, GRADIENTS)):
        taken = [tensor for each in step.operations for tensor in each.takes]
        made = [tensor for each in step.operations for tensor, _ in each.makes]
        assert set(taken) == set(made)
        assert step.received.isdisjoint(GRADIENTS)


def test_that_backward_operations_take_the_gradient_itself() -> None:
    # A gradient of a bias is also passed on to the layer before it.
    passed = (*STEP[:9], Operation(takes=(10,), makes=((11, Size(MIB)),)), *STEP[10:])
    for step in (sending(passed, GRADIENTS), gathering(passed, GRADIENTS)):
        assert step.operations[9].takes == (10,)
        memory = on_card(step.operations, TensorKinds(), step.received)
        assert memory.moments


def test_that_a_step_without_gradients_exchanges_nothing() -> None:
    assert sending(STEP, frozenset()).operations == list(STEP)
    assert gathering((), frozenset()).operations == []


def test_that_a_card_without_variables_sends_its_gradients_and_changes_nothing() -> None:
    """Its step ends with the last gradient; one that is sent is gone."""
    averages = Operation(writes=Variable(2, MIB))
    step = reading((averages, *STEP), GRADIENTS)
    assert not any(each.writes for each in step.operations)
    memory = on_card(step.operations, TensorKinds(), step.received)
    assert memory.asked(1) == NEEDED + MIB
    assert reading(STEP, frozenset()).operations == []
