"""Steps that are rehearsed: what they hold on a card, and on a CPU in whatever order its threads happen to run."""

from __future__ import annotations

from gpu_studio.placement.arena import Arena
from gpu_studio.placement.executor import CHEAP
from gpu_studio.placement.liveness import Operation, Size, Variable
from gpu_studio.placement.rehearsal import BATCHES, UNREHEARSED, Marks, on_card, on_cpu

MIB = 2**20
WEIGHT = Variable(0, MIB)
READ, TO_BEHIND, GRADIENT, UPDATE = range(4)
BACKWARD = (
    Operation(makes=((10, Size()),), reads=WEIGHT),
    Operation(takes=(10,), makes=((11, Size(0, 8)),)),  # the gradient of what came in, which takes the weight
    Operation(makes=((12, Size(MIB)),), after=(READ,)),  # the gradient of the weight
    Operation(takes=(12,), after=(READ,), writes=WEIGHT),
)
"""The end of a Dense layer's step: both gradients, and the update."""


def alike(_batch: int) -> list[float]:
    return [10 * CHEAP] * len(BACKWARD)


def test_that_on_a_cpu_an_update_may_meet_a_weight_that_is_still_in_use() -> None:
    memory = on_cpu(BACKWARD, alike, Marks(results=[11]), threads=2)
    assert memory.asked(1) == 2 * MIB + 8


def test_that_on_a_card_the_weight_is_used_first() -> None:
    memory = on_card(BACKWARD, Marks(results=[11]))
    assert memory.asked(1) == MIB + 8
    assert memory.peak(8) == round((MIB + 64) * memory.padded(8))


def test_that_calling_the_model_for_a_look_shapes_the_memory_that_steps_find() -> None:
    layer = (Operation(makes=((1, Size(0, 700_000)),)), Operation(takes=(1,), makes=((2, Size(0, 300_000)),)))
    looked, unseen = (on_cpu(layer, alike, Marks([2], outputs=outputs), threads=1) for outputs in ([1, 2], []))
    assert looked.asked(64) == unseen.asked(64)
    assert looked.padding != unseen.padding


def test_that_the_same_steps_are_rehearsed_each_time() -> None:
    first, second = (on_cpu(BACKWARD, alike, Marks(results=[11]), threads=2) for _ in range(2))
    assert first == second


def test_that_an_allocator_never_gives_out_less_than_is_asked() -> None:
    memory = on_cpu(BACKWARD, alike, Marks(results=[11]), threads=2)
    assert all(each.factor >= UNREHEARSED for each in memory.padding)


def test_that_nothing_is_held_by_a_step_of_nothing() -> None:
    assert on_card([], Marks()).peak(32) == 0
    assert on_cpu([], lambda _batch: [], Marks(), threads=2).peak(32) == 0


def test_that_steps_that_meet_the_same_memory_again_are_not_run_again(monkeypatch) -> None:
    given = []
    peak = Arena.peak
    monkeypatch.setattr(Arena, "peak", lambda arena, step: given.append(step) or peak(arena, step))
    on_card([Operation(makes=((1, Size(0, MIB)),)), Operation(takes=(1,))], Marks())
    assert len(given) == len(BATCHES)
