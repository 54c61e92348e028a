"""The memory that a graph of operations holds as TensorFlow's executor runs it.

A tensor lives from the start of the operation that makes it to the end of the last one that
uses it. Some operations allocate no memory: a reshape shares its input's, a read of a variable
the variable's, and an elementwise operation overwrites an input that no other operation will
use (`OpKernelContext::forward_input_or_allocate_output`). The executor decides in which order
operations run (`in_one_queue`, `in_threads`).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from gpu_studio.placement.step_memory import MemoryMoment


class Size(NamedTuple):
    """Bytes: `fixed`, plus `per_sample` for each sample of the batch; in `pieces` pieces of memory.

    `per_sample` may be negative: the larger the batch, the less is needed, down to nothing.
    """

    fixed: int = 0
    per_sample: int = 0
    pieces: int = 1

    def bytes(self, batch: int) -> int:
        """The total for a batch of this many samples."""
        return max(0, self.fixed + self.per_sample * batch)


NOTHING = Size()


class Variable(NamedTuple):
    """A variable, identified by a number, and the bytes of its value.

    A weight matrix is `drawn` at random when it is created; vectors are filled.
    """

    number: int
    bytes: int
    drawn: bool = False


class MemoryChange(NamedTuple):
    """Memory of this size is allocated or freed, as the block with this number."""

    block: int
    size: Size
    taken: bool


class Turn(NamedTuple):
    """The operation with index `place` begins or ends."""

    place: int
    begins: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. Tensors are identified by numbers, operations by their index.

    `makes` are its outputs with their sizes; `shares` says for each whether it is the memory of the
    input at the same index; `overwrites` whether it may reuse an input of the same size; `scratch`
    is what it needs only while it runs. `reads` is the variable whose memory it outputs, `writes`
    one that it changes: what was read before and is still in use stays as it was, so that the new
    value needs memory of its own (`PrepareToUpdateVariable`). One that `replaces` the variable's
    value turns its last input into the variable's memory (`AssignVariableOp`).
    """

    takes: tuple[int, ...] = ()
    makes: tuple[tuple[int, Size], ...] = ()
    after: tuple[int, ...] = ()
    """Operations that must end first, besides those that make its inputs."""
    shares: bool = False
    overwrites: bool = False
    scratch: Size = NOTHING
    reads: Variable | None = None
    writes: Variable | None = None
    replaces: bool = False


def block_of(variable: int) -> int:
    """The number of the block that holds a variable when a step begins."""
    return -1 - variable


@dataclass(slots=True)
class _Buffer:
    size: Size
    number: int = 0
    uses: int = 0
    gradient: bool = False
    kept: bool = False
    variable: bool = False
    given: bool = False


@dataclass(slots=True)
class _Memory:
    """The memory held now. `buffers` is by tensor, several of which can share one.

    `variables` by variable. `scratch` and `copied`, the variables' old values, are by the index of
    the operation that needs them until it ends. The variable itself is among the users of its
    memory, which has a negative number until it moves. Only what is held besides the variables is
    counted.
    """

    uses: dict[int, int]
    gradients: frozenset[int]
    kept: frozenset[int]
    given: frozenset[int]
    changes: list[MemoryChange] = field(default_factory=list)
    buffers: dict[int, _Buffer] = field(default_factory=dict)
    variables: dict[int, _Buffer] = field(default_factory=dict)
    scratch: dict[int, _Buffer] = field(default_factory=dict)
    copied: dict[int, _Buffer] = field(default_factory=dict)
    fixed: int = 0
    per_sample: int = 0
    gradient_bytes: int = 0
    kept_bytes: int = 0

    def moment(self) -> MemoryMoment:
        return MemoryMoment(self.fixed, self.per_sample, self.gradient_bytes, self.kept_bytes)

    def begin(self, place: int, operation: Operation) -> None:
        """Allocate the operation's outputs and its scratch memory."""
        if operation.scratch != NOTHING:
            self.scratch[place] = self._new(operation.scratch)
        if operation.writes:
            value = self.buffers[operation.takes[-1]] if operation.replaces else None
            self._write(place, operation.writes, value)
        if operation.reads:
            self._share(operation, [self._variable(operation.reads)])
        elif operation.shares:
            self._share(operation, [self.buffers[tensor] for tensor in operation.takes])
        else:
            self._make(operation)

    def end(self, place: int, operation: Operation) -> None:
        """Free its scratch memory, its unused outputs, and the inputs that it used last."""
        if place in self.scratch:
            self._count(self.scratch.pop(place), taken=False)
        if place in self.copied:
            self._leave(self.copied.pop(place))
        for buffer in {id(self.buffers[t]): self.buffers[t] for t, _ in operation.makes}.values():
            if buffer.uses == 0:
                self._count(buffer, taken=False)
        for tensor in operation.takes:
            self._leave(self.buffers[tensor])

    def moved(self) -> dict[int, int]:
        """The blocks of the variables that are elsewhere than at the start."""
        return {
            number: buffer.number for number, buffer in self.variables.items() if buffer.number >= 0
        }

    def _leave(self, buffer: _Buffer) -> None:
        buffer.uses -= 1
        if buffer.uses == 0:
            self._count(buffer, taken=False)

    def _variable(self, variable: Variable) -> _Buffer:
        first = _Buffer(
            Size(variable.bytes), number=block_of(variable.number), uses=1, variable=True
        )
        return self.variables.setdefault(variable.number, first)

    def _write(self, place: int, variable: Variable, value: _Buffer | None) -> None:
        """Leave the old value to the operations that still use it, and allocate the new one."""
        before = self._variable(variable)
        if value is not None and value.size == before.size and not (value.variable or value.given):
            after = value
            self._leave(before)
        elif before.uses > 1:
            after = self._new(before.size)
            self.copied[place] = before
        else:
            return
        after.uses += 1
        after.variable = True
        self.variables[variable.number] = after

    def _share(self, operation: Operation, buffers: Sequence[_Buffer]) -> None:
        for (tensor, _), buffer in zip(operation.makes, buffers, strict=False):
            self._name(tensor, buffer)

    def _make(self, operation: Operation) -> None:
        free = [self.buffers[tensor] for tensor in operation.takes] if operation.overwrites else []
        for tensor, size in operation.makes:
            given = next(
                (buffer for buffer in free if buffer.uses == 1 and buffer.size == size), None
            )
            if given is None:
                given = self._new(size, given=tensor in self.given)
            else:
                free = [buffer for buffer in free if buffer is not given]
            self._name(tensor, given)

    def _name(self, tensor: int, buffer: _Buffer) -> None:
        """Record `tensor` as in `buffer`, which its users will use."""
        self.buffers[tensor] = buffer
        buffer.uses += self.uses.get(tensor, 0)
        if tensor in self.gradients and not buffer.gradient:
            buffer.gradient = True
            self.gradient_bytes += buffer.size.fixed
        if tensor in self.kept and not buffer.kept:
            buffer.kept = True
            self.kept_bytes += buffer.size.per_sample

    def _new(self, size: Size, *, given: bool = False) -> _Buffer:
        buffer = _Buffer(size, given=given)
        self._count(buffer, taken=True)
        return buffer

    def _count(self, buffer: _Buffer, *, taken: bool) -> None:
        if buffer.size == NOTHING:
            return
        if not buffer.given:
            if taken:
                buffer.number = len(self.changes)
            self.changes.append(MemoryChange(buffer.number, buffer.size, taken))
        sign = 1 if taken else -1
        self.fixed += sign * buffer.size.fixed
        self.per_sample += sign * buffer.size.per_sample
        self.gradient_bytes += sign * buffer.size.fixed * buffer.gradient
        self.kept_bytes += sign * buffer.size.per_sample * buffer.kept


@dataclass(frozen=True, slots=True)
class MemoryHistory:
    """What was held when each operation had begun, and the allocations and frees in order.

    `moved` are the blocks in which variables are at the end, if others than at the start; `seen`
    are the variables that were read or changed.
    """

    moments: list[MemoryMoment]
    changes: list[MemoryChange]
    moved: dict[int, int]
    seen: frozenset[int]


def history(
    operations: Sequence[Operation],
    turns: Iterable[Turn],
    *,
    results: Sequence[int] = (),
    gradients: frozenset[int] = frozenset(),
    kept: frozenset[int] = frozenset(),
    given: frozenset[int] = frozenset(),
) -> MemoryHistory:
    """What the operations hold if they begin and end in the order of `turns`.

    `results` are tensors that outlive the step; each moment counts `gradients` and `kept`
    separately; `given` are tensors that exist before the step: they count as held, but not as
    changes.
    """
    memory = _Memory(_uses(operations, results), gradients, kept, given)
    moments = []
    for turn in turns:
        if turn.begins:
            memory.begin(turn.place, operations[turn.place])
            moments.append(memory.moment())
        else:
            memory.end(turn.place, operations[turn.place])
    return MemoryHistory(moments, memory.changes, memory.moved(), frozenset(memory.variables))


def _uses(operations: Sequence[Operation], results: Sequence[int]) -> dict[int, int]:
    uses: dict[int, int] = {}
    for tensor in (*(tensor for operation in operations for tensor in operation.takes), *results):
        uses[tensor] = uses.get(tensor, 0) + 1
    return uses


CHEAP = 3e-6
"""Seconds below which no other thread takes an operation over (`kOpIsExpensiveThresholdCycles`)."""
UNKNOWN = 1e-9
"""Seconds, instead of `CHEAP`, as long as the executor does not know what operations cost.

It begins with an estimate of 100 million cycles for each, and takes in a tenth of what it measures:
for ninety steps all operations but those that only pass memory on are handed to other threads
(`kInitialCostEstimateCycles`). """


def in_one_queue(operations: Sequence[Operation]) -> Iterator[Turn]:
    """One operation after the other, from a queue of those whose inputs are ready, as on a card.

    There one thread launches them (Abadi et al. 2016, arXiv:1605.08695, and `executor.cc`).
    """
    waiting = _Waiting(operations)
    ready = deque(waiting.first())
    while ready:
        place = ready.popleft()
        yield Turn(place, begins=True)
        yield Turn(place, begins=False)
        ready += waiting.after(place)


STAYING = 0.5, 0.9, 0.98
"""How likely the thread that has launched an operation launches the next one: any of these."""


def launched(
    operations: Sequence[Operation], arriving: Collection[int], chance: Random
) -> Iterator[Turn]:
    """One operation after the other, as on a card, from the queues of several threads.

    Each tensor that is `arriving` is received in a thread, which goes on with what it makes ready;
    another launches what needs none of them. Whose operation comes next is drawn by `chance`.
    """
    waiting, staying = _Waiting(operations), chance.choice(STAYING)
    received = {
        place for place, each in enumerate(operations) if any(t in arriving for t, _ in each.makes)
    }
    first = waiting.first()
    queues = [deque([place]) for place in first if place in received]
    queues.append(deque(place for place in first if place not in received))
    queue = queues[-1]
    while busy := [each for each in queues if each]:
        if not queue or chance.random() > staying:
            queue = chance.choice(busy)
        place = queue.popleft()
        yield Turn(place, begins=True)
        yield Turn(place, begins=False)
        ready = waiting.after(place)
        queue += [each for each in ready if each not in received]
        queues += [deque([each]) for each in ready if each in received]


def in_threads(
    operations: Sequence[Operation], seconds: Sequence[float], threads: int, cheap: float = CHEAP
) -> Iterator[Turn]:
    """The order on `threads` CPU threads, if operation i takes `seconds[i]`.

    It varies from step to step with the time of each operation. A thread continues with the
    operations that its last one made ready: with the cheap ones, one after the other, and the last
    of the expensive ones; it leaves the others to idle threads. Cheap ones take less than `cheap`
    seconds.
    """
    waiting = _Waiting(operations)
    workers = [_Worker(cheap) for _ in range(max(1, threads))]
    workers[0].left.extendleft(waiting.first())
    running: list[tuple[float, int, int]] = []
    now = 0.0
    while True:
        for number, worker in enumerate(workers):
            place = None if worker.busy else worker.next(workers)
            if place is not None:
                worker.busy = True
                heapq.heappush(running, (now + seconds[place], number, place))
                yield Turn(place, begins=True)
        if not running:
            return
        now, number, place = heapq.heappop(running)
        workers[number].busy = False
        yield Turn(place, begins=False)
        workers[number].take(waiting.after(place), seconds)


@dataclass(slots=True)
class _Worker:
    """A thread: what it runs next, and the operations it leaves to idle threads, newest first."""

    cheap: float
    own: deque[int] = field(default_factory=deque)
    left: deque[int] = field(default_factory=deque)
    busy: bool = False

    def take(self, ready: Sequence[int], seconds: Sequence[float]) -> None:
        """Distribute the operations that have become ready."""
        long = [place for place in ready if seconds[place] >= self.cheap]
        self.own += [place for place in ready if seconds[place] < self.cheap]
        if long and not self.own:
            self.own.append(long.pop())
        self.left.extendleft(long)

    def next(self, workers: Sequence[_Worker]) -> int | None:
        """The next operation: its own, else the newest it left, else the oldest of another."""
        if self.own:
            return self.own.popleft()
        if self.left:
            return self.left.popleft()
        return next((each.left.pop() for each in workers if each.left), None)


class _Waiting:
    """The number of inputs that each operation still waits for."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        makers = {
            tensor: place
            for place, operation in enumerate(operations)
            for tensor, _ in operation.makes
        }
        self._followers: list[list[int]] = [[] for _ in operations]
        self._count = [0] * len(operations)
        for place, operation in enumerate(operations):
            for before in (*(makers[tensor] for tensor in operation.takes), *operation.after):
                self._followers[before].append(place)
                self._count[place] += 1

    def first(self) -> list[int]:
        """The operations without inputs to wait for."""
        return [place for place, count in enumerate(self._count) if count == 0]

    def after(self, place: int) -> list[int]:
        """The operations that become ready when this one ends."""
        ready = []
        for follower in self._followers[place]:
            self._count[follower] -= 1
            if self._count[follower] == 0:
                ready.append(follower)
        return ready
