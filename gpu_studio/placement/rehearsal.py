"""What a training step holds, by running it in thought: TensorFlow's executor, and the allocator that it asks.

On a CPU no two steps are alike: which of two operations ends first decides what is held at once, and what is free
where. Therefore several steps are rehearsed, each with times of its own that are drawn from a seed, in memory as
building the model may have left it; what counts is the most that any of them holds. A card runs every step alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random

from gpu_studio.placement.arena import Arena
from gpu_studio.placement.executor import in_one_queue, in_threads
from gpu_studio.placement.liveness import History, Operation, Turn, history
from gpu_studio.placement.step_memory import Padding, StepMemory, highest

BATCHES = (8, 16, 32, 64, 128, 256, 512)
"""What the allocator adds is known for these, and in between by the line through both."""
MOST_STEPS, LEAST_STEPS, MOST_OPERATIONS = 10, 2, 40_000
SPREAD = 1.0
"""Of the logarithm of an operation's time, from one step to another, on a machine that does other things too."""
LEFT_BY_BUILDING = (0, 1, 2, 3)
"""Tensors of a variable's size that were there while it was made: its initial value, and what that came from."""
UNREHEARSED = 1.1
"""Steps that were not rehearsed find free blocks elsewhere: from one process to the next the fullest of forty real
steps differs by about so much."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Tensors by their numbers: those that outlive the step, gradients of weights, and activations that are kept."""

    results: Sequence[int] = ()
    gradients: frozenset[int] = frozenset()
    kept: frozenset[int] = frozenset()


def on_card(operations: Sequence[Operation], marks: Marks) -> StepMemory:
    """What a step holds where one thread launches every operation, and all memory is one region."""
    steps = [_run(operations, in_one_queue(operations), marks)] * LEAST_STEPS
    variables = _variables(operations)
    return _memory([(batch, steps) for batch in BATCHES], lambda: [_built(variables, grows=False, beside=0)])


def on_cpu(
    operations: Sequence[Operation], seconds: Callable[[int], Sequence[float]], marks: Marks, threads: int
) -> StepMemory:
    """What a step holds where so many threads run operations that take `seconds(batch)`, and memory grows."""
    chance = Random(0)  # noqa: S311 (no secret: the same steps in every process)
    rehearsed = []
    for batch in BATCHES:
        times = seconds(batch)
        orders = (in_threads(operations, _drawn(times, chance), threads) for _ in range(_steps(operations)))
        rehearsed.append((batch, [_run(operations, order, marks) for order in orders]))
    variables = _variables(operations)
    return _memory(rehearsed, lambda: [_built(variables, grows=True, beside=beside) for beside in LEFT_BY_BUILDING])


def _steps(operations: Sequence[Operation]) -> int:
    """The more operations, the more alike are the steps, and the longer takes each."""
    return max(LEAST_STEPS, min(MOST_STEPS, MOST_OPERATIONS // (len(BATCHES) * max(1, len(operations)))))


def _drawn(times: Sequence[float], chance: Random) -> list[float]:
    return [time * chance.lognormvariate(0.0, SPREAD) for time in times]


def _run(operations: Sequence[Operation], turns: Iterable[Turn], marks: Marks) -> History:
    return history(operations, turns, results=marks.results, gradients=marks.gradients, kept=marks.kept)


def _memory(rehearsed: Sequence[tuple[int, Sequence[History]]], arenas: Callable[[], Sequence[Arena]]) -> StepMemory:
    steps = highest(moment for _, runs in rehearsed for run in runs for moment in run.moments)
    padding = []
    for batch, runs in rehearsed:
        asked, given = steps.asked(batch), max(_given_out(runs, batch, arena) for arena in arenas())
        padding.append(Padding(batch, UNREHEARSED * max(1.0, given / asked) if asked else 1.0))
    return StepMemory(steps.moments, tuple(padding))


def _given_out(runs: Iterable[History], batch: int, arena: Arena) -> int:
    """The most that is given out in one of the steps, one after the other, besides the variables."""
    return max(arena.peak(run.changes, batch) for run in runs)


def _built(variables: Sequence[int], *, grows: bool, beside: int) -> Arena:
    """Memory with variables of these sizes, each made while `beside` tensors of its size were there."""
    arena = Arena(grows=grows)
    for number, size in enumerate(variables):
        temporary = range(-1, -1 - beside, -1)
        for each in temporary:
            arena.take(each, size)
        arena.take(-1 - beside - number, size)
        for each in temporary:
            arena.give_back(each)
    return arena


def _variables(operations: Sequence[Operation]) -> list[int]:
    return list({each.number: each.bytes for op in operations for each in (op.reads, op.writes) if each}.values())
