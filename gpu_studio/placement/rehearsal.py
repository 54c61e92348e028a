"""What a training step holds, by running it in thought: TensorFlow's executor, and the allocator that it asks.

On a CPU no two steps are alike: which of two operations ends first decides what is held at once, and what is free
where. Therefore several steps are rehearsed, each with times of its own that are drawn from a seed, in memory as
building the model may have left it; what counts is the most that any of them holds. A card runs every step alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from random import Random

from gpu_studio.placement.arena import Arena, Layout, Requests, requested
from gpu_studio.placement.executor import in_one_queue, in_threads
from gpu_studio.placement.liveness import History, Operation, Turn, block_of, history
from gpu_studio.placement.step_memory import CLOSE, Padding, StepMemory, highest

REHEARSED = (8, 64, 512)
"""Batches that steps are rehearsed for: the larger it is, the more does an operation's time depend on what it does."""
BATCHES = (*range(8, 64, 4), *range(64, CLOSE, 8), CLOSE, 256, 512)
"""What the allocator adds is known for these."""
MOST_STEPS, LEAST_STEPS, MOST_OPERATIONS = 25, 4, 24_000
"""How many steps are rehearsed for each of these: the fewer, the more operations there are."""
IN_SEQUENCE = 25
"""Steps one after the other in the same memory, which is cut more finely from step to step; some come again."""
SPREAD = 0.5
"""Of the logarithm of an operation's time, from one step to another."""
INTERRUPTED, INTERRUPTION_S = 0.01, 0.004
"""How often a thread stands still in the midst of an operation, because the machine does other things, and for how
long on average. The other threads go on, and what the operation holds meets what is not there with it otherwise."""
LOOKED_AT = 8
"""Samples that a run calls the model with while it is built, to see what it gives."""
LEFT_BY_BUILDING = (0, 2)
"""Tensors of a variable's size that were there while it was made: random numbers, and what they were scaled to."""
UNREHEARSED = 1.08
"""The one margin. Which step is the fullest, and how finely memory is cut by then, is chance: from one process to the
next the fullest of thirty real steps differs by up to a tenth."""
_FAR = 2**40
"""Beyond the numbers of all blocks of variables and of a step."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Tensors by their numbers: those that outlive the step, gradients of weights, and activations that are kept.

    `batch` are those that are there before the step begins; `outputs` those that the layers give.
    """

    results: Sequence[int] = ()
    batch: frozenset[int] = frozenset()
    outputs: Sequence[int] = ()
    gradients: frozenset[int] = frozenset()
    kept: frozenset[int] = frozenset()


def on_card(operations: Sequence[Operation], marks: Marks) -> StepMemory:
    """What a step holds where one thread launches every operation, and all memory is one region."""
    steps = [_run(operations, in_one_queue(operations), marks)]
    return _memory(operations, marks, {BATCHES[0]: steps}, [lambda: _built(operations, None, grows=False, beside=0)])


def on_cpu(
    operations: Sequence[Operation], seconds: Callable[[int], Sequence[float]], marks: Marks, threads: int
) -> StepMemory:
    """What a step holds where so many threads run operations that take `seconds(batch)`, and memory grows."""
    chance = Random(0)  # noqa: S311 (no secret: the same steps in every process)
    rehearsed = {}
    for batch in REHEARSED:
        times = seconds(batch)
        orders = (in_threads(operations, _drawn(times, chance), threads) for _ in range(_steps(operations)))
        rehearsed[batch] = [_run(operations, order, marks) for order in orders]
    look = _looked(operations, marks)
    heaps = [partial(_built, operations, look, grows=True, beside=beside) for beside in LEFT_BY_BUILDING]
    return _memory(operations, marks, rehearsed, heaps)


def _steps(operations: Sequence[Operation]) -> int:
    """The more operations, the more alike are the steps, and the longer takes each."""
    return max(LEAST_STEPS, min(MOST_STEPS, MOST_OPERATIONS // max(1, len(operations))))


def _drawn(times: Sequence[float], chance: Random) -> list[float]:
    return [time * chance.lognormvariate(0.0, SPREAD) + _interruption(chance) for time in times]


def _interruption(chance: Random) -> float:
    return chance.expovariate(1 / INTERRUPTION_S) if chance.random() < INTERRUPTED else 0.0


def _run(operations: Sequence[Operation], turns: Iterable[Turn], marks: Marks) -> History:
    return history(
        operations, turns, results=marks.results, gradients=marks.gradients, kept=marks.kept, given=marks.batch
    )


def _memory(
    operations: Sequence[Operation],
    marks: Marks,
    rehearsed: Mapping[int, Sequence[History]],
    heaps: Sequence[Callable[[], Arena]],
) -> StepMemory:
    steps = highest(moment for runs in rehearsed.values() for run in runs for moment in run.moments)
    sizes = [size for each in operations for tensor, size in each.makes if tensor in marks.batch]
    padding = []
    for batch in BATCHES:
        runs = rehearsed[max((each for each in rehearsed if each <= batch), default=min(rehearsed))]
        there = [size.bytes(batch) for size in sizes]
        requests = [requested(run, batch) for run in runs]
        asked, given = steps.asked(batch), sum(there) + max(_given_out(requests, heap(), there) for heap in heaps)
        padding.append(Padding(batch, UNREHEARSED * max(1.0, given / asked) if asked else 1.0))
    return StepMemory(steps.moments, tuple(padding))


def _given_out(steps: Sequence[Requests], arena: Arena, there: Sequence[int]) -> int:
    """The most that is given out in one of the steps, one after the other, besides the variables and the batch.

    Once a step meets the memory that it has met before, all that follows has been seen.
    """
    for number, size in enumerate(there):
        arena.take(number - len(there) - _FAR, size)
    most, met = 0, set[tuple[int, Layout]]()
    for number, step in islice(cycle(enumerate(steps)), IN_SEQUENCE):
        meets = number, arena.layout
        if meets in met:
            break
        met.add(meets)
        most = max(most, arena.peak(step))
    return most


def _built(operations: Sequence[Operation], look: History | None, *, grows: bool, beside: int) -> Arena:
    """Memory as building the model leaves it: variables, each made while `beside` tensors of its size were there.

    The weights come first; then the model is called for a `look` at it; then come the optimizer's slots.
    """
    arena, variables = Arena(grows=grows), _variables(operations)
    weights = frozenset[int]() if look is None else look.seen
    for slots in (False, True):
        for number in variables:
            if (number not in weights) == slots:
                _make(arena, number, variables[number], beside)
        if look is not None and not slots:
            arena.peak(requested(look, LOOKED_AT))
    return arena


def _make(arena: Arena, variable: int, size: int, beside: int) -> None:
    for each in range(beside):
        arena.take(each, size)
    arena.take(block_of(variable), size)
    for each in range(beside):
        arena.give_back(each)


def _looked(operations: Sequence[Operation], marks: Marks) -> History:
    """What calling the model holds: all that its layers give, until it has ended."""
    makers = {tensor: place for place, each in enumerate(operations) for tensor, _ in each.makes}
    waiting, needed = [makers[tensor] for tensor in marks.outputs], set[int]()
    while waiting:
        place = waiting.pop()
        if place not in needed:
            needed.add(place)
            waiting += [makers[tensor] for tensor in operations[place].takes]
    called = [replace(operations[place], after=()) for place in sorted(needed)]
    return history(called, in_one_queue(called), results=marks.outputs)


def _variables(operations: Sequence[Operation]) -> dict[int, int]:
    return {each.number: each.bytes for op in operations for each in (op.reads, op.writes) if each}
