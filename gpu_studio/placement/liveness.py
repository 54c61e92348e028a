"""The memory that a graph of operations holds as TensorFlow's executor runs it.

A tensor lives from the start of the operation that makes it to the end of the last one that
uses it. Some operations allocate no memory: a reshape shares its input's, a read of a variable
the variable's, and an elementwise operation overwrites an input that no other operation will
use (`OpKernelContext::forward_input_or_allocate_output`). The executor decides in which order
operations run (`in_one_queue`, `step_orders`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from gpu_studio.placement.step_memory import MemoryMoment


class Size(NamedTuple):
    """Bytes: `fixed`, plus `per_sample` for each sample of the batch; in `pieces` pieces of memory.

    `per_sample` may be negative: the larger the batch, the less is needed, down to nothing. Batches
    of less than the `least` samples need none of it, but a batch of one all that it needs `alone`.
    """

    fixed: int = 0
    per_sample: int = 0
    pieces: int = 1
    least: int = 0
    alone: int = 0

    def bytes(self, batch: int) -> int:
        """The total for a batch of this many samples."""
        if batch == 1 and self.alone:
            return self.alone
        return max(0, self.fixed + self.per_sample * batch) if batch >= self.least else 0


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


class _Buffer:
    """Memory that tensors share: its `uses` to come, and what of it counts as which bytes."""

    __slots__ = ("given", "gradients", "kept", "number", "size", "uses", "variable")

    def __init__(self, size: Size, number: int = 0, *, variable: bool = False) -> None:
        self.size, self.number, self.variable = size, number, variable
        self.uses = self.gradients = self.kept = 0
        self.given = False


class _Made(NamedTuple):
    """A tensor that an operation makes, and how often it is used; `counted` if it counts apart."""

    tensor: int
    size: Size
    uses: int
    given: bool
    counted: bool


@dataclass(slots=True)
class _Memory:
    """The memory held now. `buffers` is by tensor, several of which can share one.

    `variables` by variable. `scratch` and `copied`, the variables' old values, are by the index of
    the operation that needs them until it ends. The variable itself is among the users of its
    memory, which has a negative number until it moves. Only what is held besides the variables is
    counted.
    """

    gradients: frozenset[int]
    kept: frozenset[int]
    changes: list[MemoryChange] = field(default_factory=list)
    buffers: dict[int, _Buffer] = field(default_factory=dict)
    variables: dict[int, _Buffer] = field(default_factory=dict)
    scratch: dict[int, _Buffer] = field(default_factory=dict)
    copied: dict[int, _Buffer] = field(default_factory=dict)
    fixed: int = 0
    per_sample: int = 0
    gradient_bytes: int = 0
    kept_bytes: int = 0

    def begin(self, place: int, operation: Operation, makes: Sequence[_Made]) -> None:
        """Allocate the operation's outputs and its scratch memory."""
        if operation.scratch is not NOTHING:
            self.scratch[place] = self._new(operation.scratch)
        if operation.writes:
            value = self.buffers[operation.takes[-1]] if operation.replaces else None
            self._write(place, operation.writes, value)
        if operation.reads:
            self._share(makes, [self._variable(operation.reads)])
        elif operation.shares:
            self._share(makes, [self.buffers[tensor] for tensor in operation.takes])
        elif operation.overwrites:
            self._make(makes, [self.buffers[tensor] for tensor in operation.takes])
        else:
            for made in makes:
                self._name(made, self._new(made.size, given=made.given))

    def end(self, place: int, operation: Operation) -> None:
        """Free its scratch memory, its unused outputs, and the inputs that it used last."""
        buffers = self.buffers
        if place in self.scratch:
            self._free(self.scratch.pop(place))
        if place in self.copied:
            self._leave(self.copied.pop(place))
        for buffer in _each_once([buffers[tensor] for tensor, _ in operation.makes]):
            if buffer.uses == 0:
                self._free(buffer)
        for tensor in operation.takes:
            buffer = buffers[tensor]
            buffer.uses -= 1
            if buffer.uses == 0:
                self._free(buffer)

    def moved(self) -> dict[int, int]:
        """The blocks of the variables that are elsewhere than at the start."""
        return {
            number: buffer.number for number, buffer in self.variables.items() if buffer.number >= 0
        }

    def _leave(self, buffer: _Buffer) -> None:
        buffer.uses -= 1
        if buffer.uses == 0:
            self._free(buffer)

    def _variable(self, variable: Variable) -> _Buffer:
        found = self.variables.get(variable.number)
        if found is None:
            found = _Buffer(Size(variable.bytes), block_of(variable.number), variable=True)
            found.uses = 1
            self.variables[variable.number] = found
        return found

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

    def _share(self, makes: Sequence[_Made], buffers: Sequence[_Buffer]) -> None:
        for made, buffer in zip(makes, buffers, strict=False):
            self._name(made, buffer)

    def _make(self, makes: Sequence[_Made], free: list[_Buffer]) -> None:
        """Make the outputs in the memory of inputs of their size that nobody else uses."""
        for made in makes:
            for buffer in free:
                if buffer.uses == 1 and buffer.size == made.size:
                    free = [each for each in free if each is not buffer]
                    break
            else:
                buffer = self._new(made.size, given=made.given)
            self._name(made, buffer)

    def _name(self, made: _Made, buffer: _Buffer) -> None:
        """Record a tensor as in `buffer`, which its users will use."""
        self.buffers[made.tensor] = buffer
        buffer.uses += made.uses
        if made.counted:
            if made.tensor in self.gradients and not buffer.gradients:
                buffer.gradients = buffer.size.fixed
                self.gradient_bytes += buffer.gradients
            if made.tensor in self.kept and not buffer.kept:
                buffer.kept = buffer.size.per_sample
                self.kept_bytes += buffer.kept

    def _new(self, size: Size, *, given: bool = False) -> _Buffer:
        buffer = _Buffer(size)
        if given:
            buffer.given = True
        if size != NOTHING:
            if not given:
                buffer.number = len(self.changes)
                self.changes.append(MemoryChange(buffer.number, size, taken=True))
            self.fixed += size.fixed
            self.per_sample += size.per_sample
        return buffer

    def _free(self, buffer: _Buffer) -> None:
        size = buffer.size
        if size != NOTHING:
            if not buffer.given:
                self.changes.append(MemoryChange(buffer.number, size, taken=False))
            self.fixed -= size.fixed
            self.per_sample -= size.per_sample
            self.gradient_bytes -= buffer.gradients
            self.kept_bytes -= buffer.kept


def _each_once(buffers: list[_Buffer]) -> Iterable[_Buffer]:
    """The buffers without repetitions; most operations make one."""
    return dict.fromkeys(buffers) if len(buffers) > 1 else buffers


Held = tuple[int, int, int, int]
"""The fields of a moment."""


@dataclass(frozen=True, slots=True)
class MemoryHistory:
    """What was held when each operation had begun, and the allocations and frees in order.

    `moved` are the blocks in which variables are at the end, if others than at the start; `seen`
    are the variables that were read or changed.
    """

    held: list[Held]
    changes: list[MemoryChange]
    moved: dict[int, int]
    seen: frozenset[int]

    @property
    def moments(self) -> list[MemoryMoment]:
        """What was held when each operation had begun."""
        return [MemoryMoment(*each) for each in self.held]


class StepGraph:
    """The operations of a step, of which histories are told.

    `results` are tensors that outlive the step; each moment counts `gradients` and `kept`
    separately; `given` are tensors that exist before the step: they count as held, but not as
    changes.
    """

    def __init__(
        self,
        operations: Sequence[Operation],
        *,
        results: Sequence[int] = (),
        gradients: frozenset[int] = frozenset(),
        kept: frozenset[int] = frozenset(),
        given: frozenset[int] = frozenset(),
    ) -> None:
        self._operations, self._gradients, self._kept = operations, gradients, kept
        uses = _uses(operations, results)
        self.given_per_sample = sum(
            size.per_sample for each in operations for tensor, size in each.makes if tensor in given
        )
        """Of what exists before the step, the bytes a sample."""
        self._makes = [
            [
                _Made(
                    tensor,
                    size,
                    uses.get(tensor, 0),
                    tensor in given,
                    tensor in gradients or tensor in kept,
                )
                for tensor, size in operation.makes
            ]
            for operation in operations
        ]

    def history(self, turns: Iterable[Turn]) -> MemoryHistory:
        """What the operations hold if they begin and end in the order of `turns`."""
        memory, operations, makes = (
            _Memory(self._gradients, self._kept),
            self._operations,
            self._makes,
        )
        held: list[Held] = []
        for place, begins in turns:
            if begins:
                memory.begin(place, operations[place], makes[place])
                held.append(
                    (memory.fixed, memory.per_sample, memory.gradient_bytes, memory.kept_bytes)
                )
            else:
                memory.end(place, operations[place])
        return MemoryHistory(held, memory.changes, memory.moved(), frozenset(memory.variables))


def history(
    operations: Sequence[Operation],
    turns: Iterable[Turn],
    *,
    results: Sequence[int] = (),
    gradients: frozenset[int] = frozenset(),
    kept: frozenset[int] = frozenset(),
    given: frozenset[int] = frozenset(),
) -> MemoryHistory:
    """The history of one step: see `StepGraph`."""
    step = StepGraph(operations, results=results, gradients=gradients, kept=kept, given=given)
    return step.history(turns)


def _uses(operations: Sequence[Operation], results: Sequence[int]) -> dict[int, int]:
    uses: dict[int, int] = {}
    for tensor in (*(tensor for operation in operations for tensor in operation.takes), *results):
        uses[tensor] = uses.get(tensor, 0) + 1
    return uses


def roots_of(operations: Sequence[Operation]) -> dict[int, tuple[int, int]]:
    """For each tensor the one whose memory it is, and where that is made."""
    roots: dict[int, tuple[int, int]] = {}
    for place, each in enumerate(operations):
        for number, (tensor, _) in enumerate(each.makes):
            shared = each.shares and roots.get(each.takes[number])
            roots[tensor] = shared or (tensor, place)
    return roots


def in_one_queue(
    operations: Sequence[Operation] | Wiring, chance: Random | None = None
) -> Iterator[Turn]:
    """One operation after the other, from a queue of those whose inputs are ready, as on a card.

    There one thread launches them (Abadi et al. 2016, arXiv:1605.08695, and `executor.cc`). Those
    that become ready together come in the order of their numbers, or drawn by `chance`: TensorFlow
    rewrites the graph, and then takes them as it finds them in it. Their wiring stands for the
    operations where several orders are drawn.
    """
    wiring = operations if isinstance(operations, Wiring) else Wiring(operations)
    waiting = WaitingOperations(wiring)
    ready = deque(waiting.first)
    while ready:
        place = ready.popleft()
        yield wiring.begins[place]
        yield wiring.ends[place]
        next_ones = waiting.after(place)
        if chance is not None:
            chance.shuffle(next_ones)
        ready += next_ones


class Wiring:
    """Which operations wait for which, the tensors they make, and the turns of each.

    Those that become ready together come in the order of their `ranks`, if there are any, else of
    their numbers.
    """

    def __init__(self, operations: Sequence[Operation], ranks: Sequence[int] = ()) -> None:
        self.makes = [[tensor for tensor, _ in operation.makes] for operation in operations]
        makers = {tensor: place for place, made in enumerate(self.makes) for tensor in made}
        self.begins = [Turn(place, begins=True) for place in range(len(operations))]
        self.ends = [Turn(place, begins=False) for place in range(len(operations))]
        self.followers: list[list[int]] = [[] for _ in operations]
        self.counts = [0] * len(operations)
        for place, operation in enumerate(operations):
            for before in (*(makers[tensor] for tensor in operation.takes), *operation.after):
                self.followers[before].append(place)
                self.counts[place] += 1
        self.first = [place for place, count in enumerate(self.counts) if count == 0]
        for each in (self.first, *self.followers) if ranks else ():
            each.sort(key=ranks.__getitem__)


class WaitingOperations:
    """The number of inputs that each operation still waits for; the `first` wait for none."""

    def __init__(self, wiring: Wiring) -> None:
        self._followers, self._counts = wiring.followers, list(wiring.counts)
        self.first = wiring.first

    def after(self, place: int) -> list[int]:
        """The operations that become ready when this one ends."""
        ready, counts = [], self._counts
        for follower in self._followers[place]:
            counts[follower] -= 1
            if counts[follower] == 0:
                ready.append(follower)
        return ready
