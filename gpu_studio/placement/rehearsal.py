"""Predict the memory of a training step by simulating TensorFlow's executor and allocator.

No two steps are alike. On a CPU, which of two operations ends first decides what is held at once,
and where memory is free; on a card, which of several threads launches its operations first.
Therefore several steps are simulated, with times or turns drawn from a seed; the result is the
largest peak. On a CPU they follow each other in memory as building the model leaves it
(`built_memory`); a card's allocator cuts what it gives out to size (`trainer.devices`), so that
there it is all the same where the pieces lie.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import cycle, islice, pairwise
from math import exp
from random import Random

from gpu_studio.placement.arena import (
    AllocationRequests,
    Arena,
    Layout,
    cut_to_size,
    requested,
)
from gpu_studio.placement.built_memory import (
    FAR,
    LOOKED_AT,
    built,
    either_way,
    looked,
    lost_on_card,
    variables_of,
)
from gpu_studio.placement.liveness import (
    MemoryHistory,
    Operation,
    StepGraph,
    Wiring,
    in_one_queue,
)
from gpu_studio.placement.step_memory import (
    APART,
    CLOSE,
    ON_CARD,
    REPLACED,
    UNIT,
    UNREHEARSED,
    MemoryMoment,
    Padding,
    SplitTurns,
    StepMemory,
    highest,
)
from gpu_studio.placement.step_orders import (
    CHEAP,
    EVENLY,
    STAYING,
    UNKNOWN,
    in_threads,
    launched,
    updated_late,
)

TYPICAL = 64
REHEARSED = (8, TYPICAL, 128, 512)
"""Batches for which steps are simulated: in larger ones, operations' times depend on their work.

What kernels take to begin is twice as much of a step of 64 samples as of one of 128: with the steps
of 64 a resnet20 with 128 was predicted 1.20 of what it held."""
BATCHES = (
    *range(1, 16),
    *range(16, 32, 4),
    *range(32, 64, 8),
    *range(64, 128, 16),
    *range(128, CLOSE, 32),
    CLOSE,
    512,
)
"""Batches for which the allocator's overhead is computed, besides those where it jumps between.

One sample more is much of a small batch: a u-net with 13 was predicted a twentieth too low by what
is given out for 8 and for 16. Half a batch is alike only where little is of no batch: averages of
words with 204 samples were predicted 0.976 of what they held by what is given out for 102."""
IN_RANKS = REHEARSED[:2]
"""Batches for which steps are simulated in the order of operations' ranks, too: where kernels take
long to begin, much waits for others. In none of a dozen models more was held with 128 or more."""
A_LEAP = 0.05
"""Batches between two are computed too if they may deviate from the line by more than this share.
"""
MORE = 1.01
"""A rewritten graph that holds so much more than the traced one is rehearsed too."""
MOST_STEPS, LEAST_STEPS, MOST_OPERATIONS = 50, 4, 24_000
"""How many steps are simulated for each batch: fewer if there are more operations."""
IN_SEQUENCE = 30
"""Consecutive steps in the same memory, which fragments from step to step; some are repeated."""
PROCESSES = 3
"""How often such a sequence is simulated, each time with the steps in another order."""
SPREAD = 0.5
"""Standard deviation of the logarithm of an operation's time between steps."""
WORKED_S, BEHIND_S, OVERHEAD_S = 0.004, 0.006, 5e-6
"""How long a thread works on average until it is interrupted, because the machine does other
things, how far it can fall behind then, and what the executor takes for each operation besides. The
other threads go on, and what an interrupted operation holds meets what is not there otherwise. What
counts is what they work meanwhile: on a busier machine they stand still as long. A scheduler is
fair, so that this is at most a slice of 4 ms and a part of the next, and no length is likelier."""


Asked = tuple[AllocationRequests, Sequence[int]]
"""A step's requests of memory, and the units of what it asks for."""

Seconds = Callable[[int], Sequence[float]]
"""How long each operation takes, by the samples of a batch."""
Timed = tuple[Sequence[Operation], Seconds]
"""The operations of a graph, and how long each takes."""
Rehearsed = dict[int, list[MemoryHistory]]
"""The steps of a graph, by the samples of a batch for which they are simulated."""
EachOf = Callable[[Callable[[int], float], Sequence[int]], Iterable[float]]
"""What computes something of each of several batches, as `map` does."""
Processes = tuple[Rehearsed, Mapping[int, int]]
"""Steps, and for these batches in how many processes they are simulated, if not in `PROCESSES`."""
Found = Callable[[int], Sequence[Arena]]
"""The arenas in any of which a step of so many samples may find its memory."""


@dataclass(frozen=True, slots=True)
class TensorKinds:
    """Tensors by number: those that outlive the step, weight gradients, and kept activations.

    `batch` are those that exist before the step begins; `outputs` are the layers' outputs. `loaded`
    says whether the weights come from a file. `constants` are the bytes of each of the graph's
    constants, which lie on a CPU from the first step to the last; `splits` are those of its loops.
    `ranks` say of the operations which of those that become ready together comes first on a CPU.
    """

    results: Sequence[int] = ()
    batch: frozenset[int] = frozenset()
    outputs: Sequence[int] = ()
    gradients: frozenset[int] = frozenset()
    kept: frozenset[int] = frozenset()
    loaded: bool = False
    constants: Sequence[int] = ()
    splits: tuple[SplitTurns, ...] = ()
    ranks: Sequence[int] = ()


def on_card(
    operations: Sequence[Operation],
    marks: TensorKinds,
    received: frozenset[int] = frozenset(),
    *,
    late: bool = False,
) -> StepMemory:
    """The memory of a step whose operations a card runs one by one.

    The batch is copied there in the step, and free again when its last operation has run. Other
    tensors may be `received` too, from cards that compute beside it; with `late` all of them may
    lie there until the rest is computed.
    """
    chance = Random(0)  # noqa: S311 (no secret: the same steps in every process)
    results = [tensor for tensor in marks.results if tensor not in marks.batch]
    passing = replace(marks, results=results, batch=frozenset())
    step, wiring = _step(operations, passing), Wiring(operations)
    arriving = marks.batch | received
    staying = STAYING if received else EVENLY
    orders = (launched(wiring, arriving, chance, staying) for _ in range(_steps(operations)))
    last = [updated_late(wiring, received)] if late else []
    runs = [step.history(order) for order in dict.fromkeys(map(tuple, (*orders, *last)))]
    steps = highest(MemoryMoment(*each) for each in dict.fromkeys(h for r in runs for h in r.held))
    most = cut_to_size(runs)
    padding = (
        Padding(batch, ON_CARD * most(batch) / (steps.asked(batch) or 1))
        for batch in sorted({*BATCHES, *_leaps(operations)})
    )
    return replace(steps, padding=tuple(padding), lost=lost_on_card(operations))


def _leaps(operations: Sequence[Operation]) -> set[int]:
    """The least batches for which kernels need what smaller ones do not, and those before them.

    If there are any, the smallest of all is among them, which does not hold what the next ones do.
    """
    least = {each.scratch.least for each in operations if each.scratch.least > 1}
    return least | {batch - 1 for batch in least} | {1 for _ in least}


def on_cpu(
    operations: Sequence[Operation],
    seconds: Seconds,
    marks: TensorKinds,
    threads: int,
    rewritten: Timed | None = None,
    *,
    sure: bool = False,
    each_of: EachOf = map,
) -> StepMemory:
    """The memory of a step where `threads` threads run operations that take `seconds(batch)`.

    Memory regions are added as needed. If the graph holds more as TensorFlow has `rewritten` it,
    or it is `sure` that real steps have the factors that it moves where it has them, steps of that
    are rehearsed too, in processes of their own. So are those in the order of the operations'
    ranks, in one of the processes, or in more of them where they hold more. The fullest counts.
    Small pieces are there from before: constants, and each variable's handle (`VarHandleOp`). What
    an allocator gives out is computed by `each_of` batch, all of which may be computed at once.
    """
    others, traced = replace(marks, ranks=()), (operations, seconds)
    rehearsed = [_in_threads(*traced, others, threads)]
    if rewritten and (sure or _holds_more(rewritten, traced, marks, threads)):
        rehearsed.append(_in_threads(*rewritten, others, threads))
    certain = len(rehearsed) if sure else 1
    ranked = _in_threads(*traced, marks, threads, IN_RANKS) if marks.ranks else {}
    processes: list[Processes] = [(each, {}) for each in rehearsed]
    if ranked:
        fuller = _fuller(ranked, rehearsed)
        processes[0] = rehearsed[0], dict.fromkeys(ranked, PROCESSES - 1)
        processes.insert(0, (ranked, dict.fromkeys(ranked, 1) | dict.fromkeys(fuller, PROCESSES)))
        certain += 1
    # What differs from step to step is for the most part weights that are copied and moved.
    found = _found_on_cpu(operations, marks)
    return _memory(operations, marks, processes, found, certain, each_of)


def _found_on_cpu(operations: Sequence[Operation], marks: TensorKinds) -> Found:
    handles, look = [UNIT] * len(variables_of(operations)), looked(operations, marks.outputs)

    @cache
    def left(samples: int) -> list[Arena]:
        arenas = either_way(built(operations, look, samples, loaded=marks.loaded))
        for each in arenas:
            for number, size in enumerate((*handles, *marks.constants)):
                each.take(2 * FAR + number, size)
        return arenas

    return lambda batch: left(min(batch, LOOKED_AT))


def _holds_more(some: Timed, others: Timed, marks: TensorKinds, threads: int) -> bool:
    """Whether some operations hold more than others, one after the other or in a few steps."""

    def held(timed: Timed) -> StepMemory:
        operations, seconds = timed
        step, wiring, chance = _step(operations, marks), Wiring(operations), Random(0)  # noqa: S311
        times = seconds(TYPICAL)
        drawn = (in_threads(wiring, _drawn(times, chance), threads) for _ in range(LEAST_STEPS))
        runs = [step.history(order) for order in (in_one_queue(operations), *drawn)]
        return highest(MemoryMoment(*each) for run in runs for each in run.held)

    more, less = held(some), held(others)
    return any(more.asked(batch) > MORE * less.asked(batch) for batch in REHEARSED)


def _fuller(some: Rehearsed, others: Sequence[Rehearsed]) -> list[int]:
    """The batches for which some steps hold more than all others."""

    def asked(steps: Rehearsed, batch: int) -> int:
        held = {moment for run in steps[batch] for moment in run.held}
        return max((fixed + of_each * batch for fixed, of_each, *_ in held), default=0)

    def most(batch: int) -> int:
        return max(asked(each, batch) for each in others)

    return [batch for batch in some if asked(some, batch) > MORE * most(batch)]


def _in_threads(
    operations: Sequence[Operation],
    seconds: Seconds,
    marks: TensorKinds,
    threads: int,
    batches: Sequence[int] = REHEARSED,
) -> Rehearsed:
    chance = Random(0)  # noqa: S311 (no secret: the same steps in every process)
    step, wiring = _step(operations, marks), Wiring(operations, marks.ranks)
    rehearsed: Rehearsed = {}
    for batch in batches:
        times = seconds(batch)
        # In a run's first steps the executor does not know the operations' costs; later it does.
        known = islice(cycle((UNKNOWN, CHEAP)), _steps(operations))
        orders = (in_threads(wiring, _drawn(times, chance), threads, cheap) for cheap in known)
        rehearsed[batch] = [step.history(order) for order in orders]
    return rehearsed


def _steps(operations: Sequence[Operation]) -> int:
    """The number of steps to simulate: with more operations they vary less and take longer."""
    return max(LEAST_STEPS, min(MOST_STEPS, MOST_OPERATIONS // max(1, len(operations))))


def _drawn(times: Sequence[float], chance: Random) -> list[float]:
    worked = (time * chance.lognormvariate(0.0, SPREAD) for time in times)
    return [time + _interruption(time + OVERHEAD_S, chance) for time in worked]


def _interruption(worked: float, chance: Random) -> float:
    interrupted = chance.random() < 1 - exp(-worked / WORKED_S)
    return chance.uniform(0.0, BEHIND_S) if interrupted else 0.0


def _step(operations: Sequence[Operation], marks: TensorKinds) -> StepGraph:
    return StepGraph(
        operations,
        results=marks.results,
        gradients=marks.gradients,
        kept=marks.kept,
        given=marks.batch,
    )


def _memory(
    operations: Sequence[Operation],
    marks: TensorKinds,
    processes: Sequence[Processes],
    found: Found,
    certain: int,
    each_of: EachOf,
) -> StepMemory:
    """Of the steps of all `processes`, the fullest.

    They find memory in any of the arenas that are `found` by a step of so many samples. The margin
    is on what is there already, too, and larger on the variables that a step changes. What comes
    after the first, which are `certain`, are steps of a rewritten graph of which it is not sure
    where real ones have their factors, and need none: steps did not show all that is rehearsed of
    them (convolutions with gelu).
    """
    asking = [
        ({batch: [requested(run) for run in runs] for batch, runs in steps.items()}, some)
        for steps, some in processes
    ]
    every = (run for steps, _ in processes for runs in steps.values() for run in runs)
    steps = highest(MemoryMoment(*each) for each in dict.fromkeys(h for r in every for h in r.held))
    sizes = [size for each in operations for tensor, size in each.makes if tensor in marks.batch]
    beside = max(each.used for each in found(LOOKED_AT))
    replaced = {each.writes.number: each.writes.bytes for each in operations if each.writes}
    more_of_them = (REPLACED - UNREHEARSED) * sum(replaced.values())

    def given(batch: int) -> float:
        there = [size.bytes(batch) for size in sizes]
        arenas = found(batch)
        full = sum(there) + max(each.used for each in arenas)
        most = [full + _most(each, batch, there, arenas, some) for each, some in asking]
        known = max(most[:certain])
        return max(UNREHEARSED * known + more_of_them, *most) - beside

    sampled = _sampled(partial(each_of, given), steps.asked, _leaps(operations))
    padding = (Padding(batch, most / (steps.asked(batch) or 1)) for batch, most in sampled)
    lost = beside - sum(each.bytes for each in variables_of(operations).values())
    return StepMemory(steps.moments, tuple(padding), lost, marks.splits)


def _most(
    requests: Mapping[int, Sequence[AllocationRequests]],
    batch: int,
    there: Sequence[int],
    found: Sequence[Arena],
    processes: Mapping[int, int],
) -> int:
    """The most that is allocated in a step of `batch` samples, in any of so many processes.

    Nothing if such steps are not simulated.
    """
    alike = max((each for each in REHEARSED if each <= batch), default=REHEARSED[0])
    if alike not in requests:
        return 0
    asked = [(each, each.units(batch)) for each in requests[alike]]
    orders = _orders(asked, processes.get(alike, PROCESSES))
    return max(_given_out(order, asked, way.copy(), there) for order in orders for way in found)


def _sampled(
    given: Callable[[Sequence[int]], Iterable[float]],
    asked: Callable[[int], int],
    leaps: Collection[int],
) -> list[tuple[int, float]]:
    """The allocated bytes for `BATCHES` and `leaps`, and for batches that leave the line.

    Between two they may leap anywhere if they grow by more than what is asked for.
    """
    first = sorted({*BATCHES, *leaps})
    known: dict[int, float] = dict(zip(first, given(first), strict=True))
    intervals = [pair for pair in pairwise(BATCHES) if pair[1] <= CLOSE]

    def leap(first: int, last: int) -> bool:
        more = known[last] - known[first] - (asked(last) - asked(first))
        return more > A_LEAP * known[last]

    def bent(first: int, middle: int, last: int) -> bool:
        line = known[first] + (middle - first) / (last - first) * (known[last] - known[first])
        return abs(known[middle] - line) > A_LEAP * known[middle]

    while intervals:
        apart = [pair for pair in intervals if pair[1] - pair[0] > max(1, pair[0] // APART)]
        parted = [(first, (first + last) // 2, last) for first, last in apart]
        middles = [middle for _, middle, _ in parted]
        known |= zip(middles, given(middles), strict=True)
        intervals = [
            half for each in parted for half in pairwise(each) if bent(*each) or leap(*half)
        ]
    return sorted(known.items())


def _orders(steps: Sequence[Asked], processes: int) -> list[list[int]]:
    """The order of the steps in each simulated process, by number."""
    chance = Random(0)  # noqa: S311 (no secret: the same orders in every process)
    numbers = range(len(steps))
    return [chance.sample(numbers, len(steps)) for _ in range(min(processes, len(steps)))]


def _given_out(
    order: Sequence[int], steps: Sequence[Asked], arena: Arena, there: Sequence[int]
) -> int:
    """The most that is allocated in any of the steps, besides the batch and what is there before.

    The steps follow each other. Variables move in them, into blocks larger than they need, as the
    batch may be in one. Once one starts from a memory layout that occurred before, everything after
    it has been seen.
    """
    before, most, met = arena.used + sum(there), 0, dict[tuple[int, int], list[Layout]]()
    for number, size in enumerate(there):
        arena.take(number - len(there) - FAR, size)
    for number in islice(cycle(order), IN_SEQUENCE):
        layout, moved = arena.layout, arena.used - before
        alike = met.setdefault((number, moved), [])
        if layout in alike:
            break
        alike.append(layout)
        most = max(most, moved + arena.peak(*steps[number]))
    return most
