"""How much memory a graph of operations holds while it runs: when each tensor is made, and when the last use frees it.

A tensor lives from the beginning of the operation that makes it to the end of the last that takes it. Which operations
run when is the executor's affair (`executor`). Some make no memory of their own: a reshape shares its input's, a read
of a variable the variable's, and an elementwise operation writes over an input that nobody else will take
(`OpKernelContext::forward_input_or_allocate_output`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpu_studio.placement.step_memory import Moment


class Size(NamedTuple):
    """Bytes: `fixed`, and `per_sample` for each sample of the batch; in so many `pieces` of memory."""

    fixed: int = 0
    per_sample: int = 0
    pieces: int = 1

    def bytes(self, batch: int) -> int:
        """All of it with a batch of so many samples."""
        return self.fixed + self.per_sample * batch


NOTHING = Size()


class Variable(NamedTuple):
    """A variable, known by a number, and the bytes that its value takes."""

    number: int
    bytes: int


class Change(NamedTuple):
    """Memory of this size is taken, or given back, as the block with this number."""

    block: int
    size: Size
    taken: bool


class Turn(NamedTuple):
    """The operation at `place` begins, or ends."""

    place: int
    begins: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. Tensors are known by numbers, operations by their place among all.

    `makes` are the tensors that it gives, with their sizes; `shares` that each is the input's memory at the same place;
    `overwrites` that it may write over an input of the same size; `scratch` what it needs only while it runs. `reads`
    is the variable whose memory it gives, `writes` one that it changes: what was read of it before and is still to be
    taken stays as it was, so that the new value needs memory of its own (`PrepareToUpdateVariable`). One that
    `replaces` the variable's value makes the last tensor that it takes the variable's memory (`AssignVariableOp`).
    """

    takes: tuple[int, ...] = ()
    makes: tuple[tuple[int, Size], ...] = ()
    after: tuple[int, ...] = ()
    """Operations that must end first, besides those that make what it takes."""
    shares: bool = False
    overwrites: bool = False
    scratch: Size = NOTHING
    reads: Variable | None = None
    writes: Variable | None = None
    replaces: bool = False


def block_of(variable: int) -> int:
    """The number of the block that a variable is in when a step begins."""
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
    """What is held now. `buffers` is by tensor, several of which can share one; `variables` by a variable's number.

    `scratch` and `copied`, the variables as they were, are by the place of the operation that needs them to its end. A
    variable is one that uses its memory, which has a number below 0 as long as it has not moved. Only what is held
    besides the variables is counted.
    """

    uses: dict[int, int]
    gradients: frozenset[int]
    kept: frozenset[int]
    given: frozenset[int]
    changes: list[Change] = field(default_factory=list)
    buffers: dict[int, _Buffer] = field(default_factory=dict)
    variables: dict[int, _Buffer] = field(default_factory=dict)
    scratch: dict[int, _Buffer] = field(default_factory=dict)
    copied: dict[int, _Buffer] = field(default_factory=dict)
    fixed: int = 0
    per_sample: int = 0
    gradient_bytes: int = 0
    kept_bytes: int = 0

    def moment(self) -> Moment:
        return Moment(self.fixed, self.per_sample, self.gradient_bytes, self.kept_bytes)

    def begin(self, place: int, operation: Operation) -> None:
        """Make what the operation gives, and its scratch memory."""
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
        """Free what it alone needed, what it made that nobody takes, and what it was the last to take."""
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
        """The blocks of the variables that are elsewhere than at the beginning."""
        return {number: buffer.number for number, buffer in self.variables.items() if buffer.number >= 0}

    def _leave(self, buffer: _Buffer) -> None:
        buffer.uses -= 1
        if buffer.uses == 0:
            self._count(buffer, taken=False)

    def _variable(self, variable: Variable) -> _Buffer:
        first = _Buffer(Size(variable.bytes), number=block_of(variable.number), uses=1, variable=True)
        return self.variables.setdefault(variable.number, first)

    def _write(self, place: int, variable: Variable, value: _Buffer | None) -> None:
        """Leave what was read of the variable to those that are still to take it, and let it be new."""
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
            given = next((buffer for buffer in free if buffer.uses == 1 and buffer.size == size), None)
            if given is None:
                given = self._new(size, given=tensor in self.given)
            else:
                free = [buffer for buffer in free if buffer is not given]
            self._name(tensor, given)

    def _name(self, tensor: int, buffer: _Buffer) -> None:
        """Let `tensor` be in `buffer`, which its takers will use."""
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
            self.changes.append(Change(buffer.number, buffer.size, taken))
        sign = 1 if taken else -1
        self.fixed += sign * buffer.size.fixed
        self.per_sample += sign * buffer.size.per_sample
        self.gradient_bytes += sign * buffer.size.fixed * buffer.gradient
        self.kept_bytes += sign * buffer.size.per_sample * buffer.kept


@dataclass(frozen=True, slots=True)
class History:
    """What was held when each operation had begun, and what was taken and given back, in this order.

    `moved` are the blocks that variables are in at the end, where these are others than at the beginning; `seen` are
    the variables that were read or changed.
    """

    moments: list[Moment]
    changes: list[Change]
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
) -> History:
    """What the operations hold if they begin and end as `turns` tell.

    `results` are tensors that outlive the step; `gradients` and `kept` mark the tensors that each `Moment` counts
    apart; `given` are those that are there before the step begins: they count as held, and are no change.
    """
    memory = _Memory(_uses(operations, results), gradients, kept, given)
    moments = []
    for turn in turns:
        if turn.begins:
            memory.begin(turn.place, operations[turn.place])
            moments.append(memory.moment())
        else:
            memory.end(turn.place, operations[turn.place])
    return History(moments, memory.changes, memory.moved(), frozenset(memory.variables))


def _uses(operations: Sequence[Operation], results: Sequence[int]) -> dict[int, int]:
    uses: dict[int, int] = {}
    for tensor in (*(tensor for operation in operations for tensor in operation.takes), *results):
        uses[tensor] = uses.get(tensor, 0) + 1
    return uses
