"""Simulates the order in which TensorFlow's executor runs operations (`executor.cc`).

Abadi et al. 2016, arXiv:1605.08695. On a card one thread launches operations one after the other,
from a queue of those whose inputs are ready. On a CPU several threads run them, and the order
varies from step to step with the time of each operation. A thread continues with the operations
that its last one made ready: with the cheap ones, one after the other, and the last of the
expensive ones; it leaves the others to idle threads.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gpu_studio.placement.liveness import Operation, Turn

CHEAP = 3e-6
"""Seconds.

What takes less is not worth handing to another thread (`kOpIsExpensiveThresholdCycles`).
"""
UNKNOWN = 1e-9
"""Seconds, instead of `CHEAP`, as long as the executor does not know what operations cost.

It begins with an estimate of 100 million cycles for each, and takes in a tenth of what it measures:
for ninety steps all operations but those that only pass memory on are handed to other threads
(`kInitialCostEstimateCycles`). """


def in_one_queue(operations: Sequence[Operation]) -> Iterator[Turn]:
    """One operation after the other, as on a card."""
    waiting = _Waiting(operations)
    ready = deque(waiting.first())
    while ready:
        place = ready.popleft()
        yield Turn(place, begins=True)
        yield Turn(place, begins=False)
        ready += waiting.after(place)


def in_threads(
    operations: Sequence[Operation], seconds: Sequence[float], threads: int, cheap: float = CHEAP
) -> Iterator[Turn]:
    """The order on `threads` CPU threads, if operation i takes `seconds[i]`.

    Operations that take less than `cheap` seconds are not handed to another thread.
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
