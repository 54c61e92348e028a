"""How much memory a graph of operations holds while it runs: when each tensor is made, and when the last use frees it.

The order is that of TensorFlow's executor, a queue of operations that have all that they need (Abadi et al. 2016,
arXiv:1605.08695, section 3.3). A tensor lives from the operation that makes it to the end of the last that takes it.
Two kinds of operation make no memory of their own: a reshape shares its input's, and an elementwise operation writes
over an input that nobody else will take (`OpKernelContext::forward_input_or_allocate_output`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpu_studio.placement.step_memory import Moment


class Size(NamedTuple):
    """Bytes: `fixed`, and `per_sample` for each sample of the batch."""

    fixed: int = 0
    per_sample: int = 0


NOTHING = Size()


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. Tensors are known by numbers, operations by their place among all.

    `makes` are the tensors that it gives, with their sizes; `shares` that each is the input's memory at the same place;
    `overwrites` that it may write over an input of the same size; `scratch` what it needs only while it runs.
    """

    takes: tuple[int, ...] = ()
    makes: tuple[tuple[int, Size], ...] = ()
    after: tuple[int, ...] = ()
    """Operations that must end first, besides those that make what it takes."""
    shares: bool = False
    overwrites: bool = False
    scratch: Size = NOTHING


@dataclass(slots=True)
class _Buffer:
    size: Size
    uses: int = 0
    gradient: bool = False
    kept: bool = False


@dataclass(slots=True)
class _Memory:
    """What is held now. `buffers` is by tensor; several tensors can share one buffer."""

    uses: dict[int, int]
    gradients: frozenset[int]
    kept: frozenset[int]
    buffers: dict[int, _Buffer] = field(default_factory=dict)
    fixed: int = 0
    per_sample: int = 0
    gradient_bytes: int = 0
    kept_bytes: int = 0

    def count(self, buffer: _Buffer, sign: int) -> None:
        self.fixed += sign * buffer.size.fixed
        self.per_sample += sign * buffer.size.per_sample
        self.gradient_bytes += sign * buffer.size.fixed * buffer.gradient
        self.kept_bytes += sign * buffer.size.per_sample * buffer.kept

    def name(self, tensor: int, buffer: _Buffer) -> None:
        """Let `tensor` be in `buffer`, which its takers will use."""
        self.buffers[tensor] = buffer
        buffer.uses += self.uses.get(tensor, 0)
        if tensor in self.gradients and not buffer.gradient:
            buffer.gradient = True
            self.gradient_bytes += buffer.size.fixed
        if tensor in self.kept and not buffer.kept:
            buffer.kept = True
            self.kept_bytes += buffer.size.per_sample

    def make(self, tensor: int, size: Size) -> None:
        buffer = _Buffer(size)
        self.count(buffer, 1)
        self.name(tensor, buffer)

    def release(self, tensors: Sequence[int]) -> None:
        for tensor in tensors:
            buffer = self.buffers[tensor]
            buffer.uses -= 1
            if buffer.uses == 0:
                self.count(buffer, -1)

    def drop_unused(self, tensors: Sequence[int]) -> None:
        """Free at once what is made and never taken."""
        for buffer in {id(self.buffers[t]): self.buffers[t] for t in tensors}.values():
            if buffer.uses == 0:
                self.count(buffer, -1)

    def moment(self, scratch: Size) -> Moment:
        fixed, per_sample = self.fixed + scratch.fixed, self.per_sample + scratch.per_sample
        return Moment(fixed, per_sample, self.gradient_bytes, self.kept_bytes)


def moments(
    operations: Sequence[Operation],
    *,
    results: Sequence[int] = (),
    gradients: frozenset[int] = frozenset(),
    kept: frozenset[int] = frozenset(),
    at_once: int = 1,
) -> Iterator[Moment]:
    """What is held while each operation runs, in the order in which they run.

    `results` are tensors that outlive the step; `gradients` and `kept` mark the tensors that each `Moment` counts
    apart. `at_once` operations run at the same time, so that what one takes is freed only when the others have begun.
    """
    memory = _Memory(_uses(operations, results), gradients, kept)
    running: deque[Operation] = deque()
    for place in executed(operations):
        operation = operations[place]
        _make(memory, operation)
        running.append(operation)
        yield memory.moment(_scratch(running))
        memory.drop_unused([tensor for tensor, _ in operation.makes])
        if len(running) == at_once:
            memory.release(running.popleft().takes)


def executed(operations: Sequence[Operation]) -> Iterator[int]:
    """The places of the operations in the order in which one queue runs them."""
    followers, waiting = _followers(operations)
    ready = deque(place for place, count in enumerate(waiting) if count == 0)
    while ready:
        place = ready.popleft()
        yield place
        for follower in followers[place]:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                ready.append(follower)


def _followers(operations: Sequence[Operation]) -> tuple[list[list[int]], list[int]]:
    makers = {tensor: place for place, operation in enumerate(operations) for tensor, _ in operation.makes}
    followers: list[list[int]] = [[] for _ in operations]
    waiting = [0] * len(operations)
    for place, operation in enumerate(operations):
        for before in (*(makers[tensor] for tensor in operation.takes), *operation.after):
            followers[before].append(place)
            waiting[place] += 1
    return followers, waiting


def _uses(operations: Sequence[Operation], results: Sequence[int]) -> dict[int, int]:
    uses: dict[int, int] = {}
    for tensor in (*(tensor for operation in operations for tensor in operation.takes), *results):
        uses[tensor] = uses.get(tensor, 0) + 1
    return uses


def _make(memory: _Memory, operation: Operation) -> None:
    if operation.shares:
        for taken, (tensor, _) in zip(operation.takes, operation.makes, strict=False):
            memory.name(tensor, memory.buffers[taken])
        return
    free = [memory.buffers[tensor] for tensor in operation.takes] if operation.overwrites else []
    for tensor, size in operation.makes:
        given = next((buffer for buffer in free if buffer.uses == 1 and buffer.size == size), None)
        if given is None:
            memory.make(tensor, size)
        else:
            free = [buffer for buffer in free if buffer is not given]
            memory.name(tensor, given)


def _scratch(running: Sequence[Operation]) -> Size:
    return Size(sum(one.scratch.fixed for one in running), sum(one.scratch.per_sample for one in running))
