"""Predict the memory of a training step by simulating TensorFlow's executor and allocator.

On a CPU no two steps are alike: which of two operations ends first decides what is held at
once, and where memory is free. Therefore several steps are simulated, each with operation times
drawn from a seed, starting from memory as building the model may have left it; the result is
the largest peak. On a card every step is the same. `Arena` is the allocator.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice, pairwise
from random import Random
from typing import NamedTuple

from gpu_studio.placement.liveness import (
    CHEAP,
    UNKNOWN,
    MemoryHistory,
    Operation,
    Turn,
    Variable,
    block_of,
    history,
    in_one_queue,
    in_threads,
)
from gpu_studio.placement.step_memory import CLOSE, UNREHEARSED, Padding, StepMemory, highest

REHEARSED = (8, 64, 512)
"""Batches for which steps are simulated: in larger ones, operations' times depend on their work."""
BATCHES = (*range(8, 64, 8), *range(64, CLOSE, 16), CLOSE, 256, 512)
"""Batches for which the allocator's overhead is computed, besides those where it jumps between."""
A_LEAP = 0.05
"""Batches between two are computed too if they deviate from the line by more than this share."""
MOST_STEPS, LEAST_STEPS, MOST_OPERATIONS = 25, 4, 24_000
"""How many steps are simulated for each batch: fewer if there are more operations."""
IN_SEQUENCE = 25
"""Consecutive steps in the same memory, which fragments from step to step; some are repeated."""
PROCESSES = 2
"""How often such a sequence is simulated, each time with the steps in another order."""
SPREAD = 0.5
"""Standard deviation of the logarithm of an operation's time between steps."""
INTERRUPTED, INTERRUPTION_S = 0.01, 0.004
"""How often a thread stands still in the midst of an operation, because the machine does other
things, and for how long on average. The other threads go on, and what the operation holds meets
what is not there with it otherwise."""
LOOKED_AT = 8
"""Samples with which a run calls the model while building it, to see its output."""
DRAWING = 2
"""Temporary tensors of a variable's size while it is drawn: random numbers, raw and scaled."""
_FAR = 2**40
"""Larger than the numbers of all blocks of variables and of a step."""


@dataclass(frozen=True, slots=True)
class TensorKinds:
    """Tensors by number: those that outlive the step, weight gradients, and kept activations.

    `batch` are those that exist before the step begins; `outputs` are the layers' outputs. `loaded`
    says whether the weights come from a file.
    """

    results: Sequence[int] = ()
    batch: frozenset[int] = frozenset()
    outputs: Sequence[int] = ()
    gradients: frozenset[int] = frozenset()
    kept: frozenset[int] = frozenset()
    loaded: bool = False


def on_card(operations: Sequence[Operation], marks: TensorKinds) -> StepMemory:
    """The memory of a step if one thread launches every operation in one region of memory."""
    steps = [_run(operations, in_one_queue(operations), marks)]

    def built() -> Arena:
        return _built(operations, None, grows=False, loaded=False)

    lost = built().used - sum(each.bytes for each in _variables(operations).values())
    alike = (each.scratch.fixed for each in operations if not each.scratch.per_sample)
    scratch = max(alike, default=0)
    memory = _memory(operations, marks, {BATCHES[0]: steps}, built)
    return replace(memory, lost=lost, scratch=scratch)


def on_cpu(
    operations: Sequence[Operation],
    seconds: Callable[[int], Sequence[float]],
    marks: TensorKinds,
    threads: int,
) -> StepMemory:
    """The memory of a step where `threads` threads run operations that take `seconds(batch)`.

    Memory regions are added as needed.
    """
    chance = Random(0)  # noqa: S311 (no secret: the same steps in every process)
    rehearsed = {}
    for batch in REHEARSED:
        times = seconds(batch)
        # In a run's first steps the executor does not know the operations' costs; later it does.
        known = islice(cycle((UNKNOWN, CHEAP)), _steps(operations))
        orders = (in_threads(operations, _drawn(times, chance), threads, cheap) for cheap in known)
        rehearsed[batch] = [_run(operations, order, marks) for order in orders]
    look = _looked(operations, marks)
    return _memory(
        operations,
        marks,
        rehearsed,
        lambda: _built(operations, look, grows=True, loaded=marks.loaded),
    )


def _steps(operations: Sequence[Operation]) -> int:
    """The number of steps to simulate: with more operations they vary less and take longer."""
    return max(LEAST_STEPS, min(MOST_STEPS, MOST_OPERATIONS // max(1, len(operations))))


def _drawn(times: Sequence[float], chance: Random) -> list[float]:
    return [time * chance.lognormvariate(0.0, SPREAD) + _interruption(chance) for time in times]


def _interruption(chance: Random) -> float:
    return chance.expovariate(1 / INTERRUPTION_S) if chance.random() < INTERRUPTED else 0.0


def _run(
    operations: Sequence[Operation], turns: Iterable[Turn], marks: TensorKinds
) -> MemoryHistory:
    return history(
        operations,
        turns,
        results=marks.results,
        gradients=marks.gradients,
        kept=marks.kept,
        given=marks.batch,
    )


def _memory(
    operations: Sequence[Operation],
    marks: TensorKinds,
    rehearsed: Mapping[int, Sequence[MemoryHistory]],
    built: Callable[[], Arena],
) -> StepMemory:
    steps = highest(moment for runs in rehearsed.values() for run in runs for moment in run.moments)
    sizes = [size for each in operations for tensor, size in each.makes if tensor in marks.batch]

    def given(batch: int) -> float:
        runs = rehearsed[max((each for each in rehearsed if each <= batch), default=min(rehearsed))]
        there = [size.bytes(batch) for size in sizes]
        requests = [requested(run, batch) for run in runs]
        most = sum(there) + max(_given_out(order, built(), there) for order in _orders(requests))
        return UNREHEARSED * max(most, steps.asked(batch))

    padding = (Padding(batch, most / (steps.asked(batch) or 1)) for batch, most in _sampled(given))
    return StepMemory(steps.moments, tuple(padding))


def _sampled(given: Callable[[int], float]) -> list[tuple[int, float]]:
    """The allocated bytes for `BATCHES`, and for batches between two that deviate from the line."""
    known = {batch: given(batch) for batch in BATCHES}
    intervals = [pair for pair in pairwise(BATCHES) if pair[1] <= CLOSE]
    while intervals:
        first, last = intervals.pop()
        middle = (first + last) // 2
        if middle > first:
            known[middle] = given(middle)
            share = (middle - first) / (last - first)
            line = known[first] + share * (known[last] - known[first])
            if abs(known[middle] - line) > A_LEAP * known[middle]:
                intervals += (first, middle), (middle, last)
    return sorted(known.items())


def _orders(steps: Sequence[AllocationRequests]) -> list[list[AllocationRequests]]:
    """The order of the steps in each simulated process."""
    chance = Random(0)  # noqa: S311 (no secret: the same orders in every process)
    return [chance.sample(steps, len(steps)) for _ in range(min(PROCESSES, len(steps)))]


def _given_out(steps: Sequence[AllocationRequests], arena: Arena, there: Sequence[int]) -> int:
    """The most that is allocated in one of the steps, besides the variables and the batch.

    The steps follow each other. Once one starts from a memory layout that occurred before,
    everything after it has been seen.
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


def _built(
    operations: Sequence[Operation], look: MemoryHistory | None, *, grows: bool, loaded: bool
) -> Arena:
    """The memory as building the model leaves it.

    The weights come first, matrices being drawn at random; those that are `loaded` are then
    replaced. The model is called once to `look` at its output; the optimizer's slots come last.
    """
    arena, variables = Arena(grows=grows), _variables(operations)
    weights = frozenset(variables) if look is None else look.seen
    for number in (number for number in variables if number in weights):
        _make(arena, variables[number])
    for number in (number for number in variables if loaded and number in weights):
        arena.take(0, variables[number].bytes)
        arena.replace(block_of(number), 0)
    if look is not None:
        arena.peak(requested(look, LOOKED_AT))
    for number in (number for number in variables if number not in weights):
        arena.take(block_of(number), variables[number].bytes)
    return arena


def _make(arena: Arena, weight: Variable) -> None:
    beside = range(DRAWING if weight.drawn else 0)
    for each in beside:
        arena.take(each, weight.bytes)
    arena.take(block_of(weight.number), weight.bytes)
    for each in reversed(beside):
        arena.give_back(each)


def _looked(operations: Sequence[Operation], marks: TensorKinds) -> MemoryHistory:
    """What calling the model holds: all outputs of its layers, until the call ends."""
    makers = {tensor: place for place, each in enumerate(operations) for tensor, _ in each.makes}
    waiting, needed = [makers[tensor] for tensor in marks.outputs], set[int]()
    while waiting:
        place = waiting.pop()
        if place not in needed:
            needed.add(place)
            waiting += [makers[tensor] for tensor in operations[place].takes]
    called = [replace(operations[place], after=()) for place in sorted(needed)]
    return history(called, in_one_queue(called), results=marks.outputs)


def _variables(operations: Sequence[Operation]) -> dict[int, Variable]:
    return {each.number: each for op in operations for each in (op.reads, op.writes) if each}


UNIT = 256
"""The size of every block is a multiple of this many bytes."""
LARGEST_REST = 128 * 2**20
"""A remainder of at least this many bytes is always split off."""
FIRST_REGION = 2 * 2**20
Layout = tuple[frozenset[tuple[int, tuple[int, ...]]], tuple[tuple[int, int], ...]]
"""The positions of allocated blocks by number, and the size and position of each free block."""


class AllocationRequests(NamedTuple):
    """The memory requests of a step: `turns` of (block number, bytes per piece, number of pieces).

    Zero pieces free the block. `left` are the blocks that still exist when the step ends, and
    `moved` those that variables have moved to.
    """

    turns: list[tuple[int, int, int]]
    left: frozenset[int]
    moved: Mapping[int, int]


def requested(step: MemoryHistory, batch: int) -> AllocationRequests:
    """The memory requests of a step of `batch` samples."""
    turns = [
        (block, _rounded(size.bytes(batch), size.pieces), size.pieces) if taken else (block, 0, 0)
        for block, size, taken in step.changes
    ]
    taken = {change.block for change in step.changes if change.taken}
    given_back = {change.block for change in step.changes if not change.taken}
    return AllocationRequests(
        turns, frozenset(taken - given_back - set(step.moved.values())), step.moved
    )


def _rounded(size: int, pieces: int) -> int:
    """The bytes of each of `pieces` blocks that together hold `size`."""
    return max(UNIT, -(-size // (pieces * UNIT)) * UNIT)


@dataclass(slots=True)
class _Block:
    place: int
    bytes: int
    free: bool = True
    before: _Block | None = None
    behind: _Block | None = None


class Arena:
    """The memory of one device, as TensorFlow's allocator gives it out (`bfc_allocator.cc`).

    It returns the smallest free block that is large enough, and splits it only if at least as much
    is left over: up to half of a block can be wasted. A freed block is merged with free neighbours.
    A card's memory is one region; on a CPU regions are added when needed, each twice as large as
    the last, or larger if the request demands it. The caller numbers the blocks that it takes.
    """

    def __init__(self, *, grows: bool) -> None:
        """With `grows`, memory starts empty and regions are added.

        Otherwise it is practically unlimited.
        """
        self.used = 0
        """Bytes allocated."""
        self._taken: dict[int, list[_Block]] = {}
        self._free: list[tuple[int, int, _Block]] = []
        self.end = 0
        self._region = FIRST_REGION
        if not grows:
            self._add_region(2**50)

    @property
    def layout(self) -> Layout:
        """The positions of all blocks. Arenas with equal layouts serve the same steps equally."""
        taken = (
            (number, tuple(block.place for block in blocks))
            for number, blocks in self._taken.items()
        )
        return frozenset(taken), tuple((size, place) for size, place, _ in self._free)

    def take(self, number: int, size: int, pieces: int = 1) -> None:
        """Allocate at least `size` bytes as block `number`, in `pieces` pieces."""
        needed = _rounded(size, pieces)
        self._taken[number] = [self._take(needed) for _ in range(pieces)]

    def give_back(self, number: int) -> None:
        """Free the block."""
        for block in self._taken.pop(number):
            self._free_block(block)

    def _take(self, needed: int) -> _Block:
        place = bisect_left(self._free, (needed, -1))
        if place == len(self._free):
            self._grow(needed)
            place = bisect_left(self._free, (needed, -1))
        block = self._free.pop(place)[2]
        block.free = False
        rest = block.bytes - needed
        if rest >= needed or rest >= LARGEST_REST:
            self._cut(block, needed)
        self.used += block.bytes
        return block

    def _free_block(self, block: _Block) -> None:
        self.used -= block.bytes
        if block.behind is not None and block.behind.free:
            self._forget(block.behind)
            _join(block, block.behind)
        if block.before is not None and block.before.free:
            self._forget(block.before)
            block = _join(block.before, block)
        self._offer(block)

    def peak(self, step: AllocationRequests) -> int:
        """The most that a step allocates in addition to what was allocated before it.

        Afterwards all of the step's memory is free, except the blocks that variables have moved to.
        """
        # The innermost loop of a rehearsal: a million iterations for a large model.
        before = most = self.used
        taken, take, free = self._taken, self._take, self._free_block
        for number, needed, pieces in step.turns:
            if pieces:
                taken[number] = (
                    [take(needed)] if pieces == 1 else [take(needed) for _ in range(pieces)]
                )
                if self.used > most:
                    most = self.used
            else:
                for block in taken.pop(number):
                    free(block)
        self._move(step.moved)
        for left in step.left:
            self.give_back(left)
        return most - before

    def _move(self, moved: Mapping[int, int]) -> None:
        for variable, block in moved.items():
            self.replace(block_of(variable), block)

    def replace(self, number: int, by: int) -> None:
        """Free block `number`, if it is allocated, and give its number to block `by`."""
        if number in self._taken:
            self.give_back(number)
        self._taken[number] = self._taken.pop(by)

    def _grow(self, needed: int) -> None:
        if needed <= self._region:
            self._add_region(self._region)
            self._region *= 2
        else:
            while self._region < needed:
                self._region *= 2
            self._add_region(self._region)

    def _add_region(self, size: int) -> None:
        self._offer(_Block(self.end, size))
        self.end += size

    def _cut(self, block: _Block, size: int) -> None:
        rest = _Block(block.place + size, block.bytes - size, True, block, block.behind)
        if block.behind is not None:
            block.behind.before = rest
        block.behind, block.bytes = rest, size
        self._offer(rest)

    def _offer(self, block: _Block) -> None:
        block.free = True
        insort(self._free, (block.bytes, block.place, block))

    def _forget(self, block: _Block) -> None:
        del self._free[bisect_left(self._free, (block.bytes, block.place))]


def _join(block: _Block, behind: _Block) -> _Block:
    """Merge the two blocks."""
    block.bytes += behind.bytes
    block.behind = behind.behind
    if behind.behind is not None:
        behind.behind.before = block
    return block
