"""Micro-batches that a card takes in turn: what their memory holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_studio.placement.in_turn import IN_TURN, TURNS, in_turn
from gpu_studio.placement.liveness import Operation, Size, Variable
from gpu_studio.placement.rehearsal import TensorKinds, on_card
from gpu_studio.placement.stage_memory import StageMemory, Step, with_beyond
from gpu_studio.placement.step_memory import ON_CARD, MemoryMoment, StepMemory

MIB = 2**20
WEIGHT = Variable(0, MIB)
BATCH, MADE, GRADIENT, UPDATE = range(4)
STEP = (
    Operation(makes=((BATCH, Size(2 * MIB)),)),
    Operation(takes=(BATCH,), makes=((MADE, Size(4 * MIB)),)),
    Operation(takes=(MADE,), makes=((GRADIENT, Size(MIB)),)),
    Operation(takes=(GRADIENT,), makes=((UPDATE, Size(100 * MIB)),)),
    Operation(takes=(GRADIENT, UPDATE), writes=WEIGHT),
)
"""The gradient of one weight, and an update that needs more than all else."""
TURNED = in_turn(STEP, frozenset({GRADIENT}), frozenset({BATCH}))


def held() -> StepMemory:
    marks = TensorKinds(results=TURNED.sums, batch=frozenset({BATCH}))
    return on_card(TURNED.operations, marks, TURNED.received)


def test_that_nothing_is_updated_and_the_sum_of_the_gradients_is_there_in_the_end() -> None:
    assert all(each.writes is None for each in TURNED.operations)
    assert len(TURNED.sums) == 1
    made = [tensor for each in TURNED.operations for tensor, _ in each.makes]
    assert len(made) == len(set(made)) == TURNS * 4  # batch, output, gradient, sum
    (last,) = (
        each for each in TURNED.operations if each.makes[:1] and each.makes[0][0] in TURNED.sums
    )
    assert len(last.takes) == 2


def test_that_one_micro_batch_comes_after_the_other_and_the_next_is_sent_ahead() -> None:
    # The sum, the next one's samples, and those of this one with what it makes of them.
    assert held().asked(1) == (1 + 2 + 2 + 4) * MIB
    assert held().peak(1) == round(ON_CARD * held().asked(1))
    without = on_card(STEP[:3], TensorKinds(results=(GRADIENT,), batch=frozenset({BATCH})))
    assert without.asked(1) == (2 + 4) * MIB


def test_that_a_step_of_nothing_takes_no_turns_and_one_without_gradients_only_waits() -> None:
    assert not any(each.makes for each in in_turn((), frozenset(), frozenset()).operations)
    assert in_turn(STEP[:2], frozenset(), frozenset()).sums == []


@pytest.mark.parametrize(("micro_batches", "beyond"), [(1, 1000), (4, 300)])
def test_that_several_micro_batches_on_a_card_are_reckoned_from_turns_and_one_from_its_step(
    micro_batches: int, beyond: int
) -> None:
    steps = {
        "GPU": StepMemory((MemoryMoment(fixed=1000),)),
        IN_TURN: StepMemory((MemoryMoment(fixed=300),)),
    }
    step = with_beyond(Step(8, micro_batches), StageMemory(), 0.0, steps, 1)
    assert (step.beyond, step.beyond_updating) == (beyond, 1000)
    on_cpu = with_beyond(step, StageMemory(), None, {**steps, "CPU": StepMemory()}, 1)
    assert on_cpu.beyond == on_cpu.beyond_updating == 0


def test_that_what_updates_hold_beyond_the_formula_counts_for_updates_only() -> None:
    stage = StageMemory(gradients=100, updating=100, kept=10)
    step = Step(8, 4, 1, in_turn=True, beyond=5, beyond_updating=50)
    passing = stage.step_bytes(replace(step, beyond_updating=0))
    updating = 100 + 100 + 50
    assert float(stage.step_bytes(step)) == max(updating, float(passing))


def test_that_the_last_gradient_may_wait_to_be_sent_when_the_update_begins() -> None:
    stage = StageMemory(gradients=1000, updating=1000, returned=10)
    assert float(stage.step_bytes(Step(8, 4, 1, in_turn=True))) == 2000 + 2 * 10


def test_that_the_next_inputs_are_there_when_the_last_card_adds_up_gradients() -> None:
    """A trace showed the third's beside the sums of the first and the kernels of the second."""
    stage = StageMemory(gradients=1000, received=10)
    # The sums, those of the one that goes back, and the inputs of two micro-batches.
    assert float(stage.step_bytes(Step(8, 4, 1, in_turn=True))) == 2 * 1000 + 2 * 2 * 10
    assert [Step(16, 4, turns, in_turn=True).arrived_beside for turns in (1, 2, 3, 4)] == [
        8,
        8,
        12,
        12,
    ]
    assert Step(16, 4, 4).arrived_beside == Step(16, 4, 4).beside
