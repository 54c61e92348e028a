"""In which order TensorFlow's executor runs a graph of operations (`executor.cc`; Abadi et al. 2016, arXiv:1605.08695).

On a card one thread launches one operation after the other, from a queue of those that have all that they need. On a
CPU several threads run them, and the order differs from step to step with the time that each operation takes. A thread
that has run one goes on with what that made ready: with the cheap ones, one after the other, and the last of those that
take long; the others it leaves to whoever is idle.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gpu_studio.placement.liveness import Operation, Turn

CHEAP = 3e-6
"""Seconds. What takes less is not worth to be handed to another thread (`kOpIsExpensiveThresholdCycles`)."""


def in_one_queue(operations: Sequence[Operation]) -> Iterator[Turn]:
    """One operation after the other, as a card gets them."""
    waiting = _Waiting(operations)
    ready = deque(waiting.first())
    while ready:
        place = ready.popleft()
        yield Turn(place, begins=True)
        yield Turn(place, begins=False)
        ready += waiting.after(place)


def in_threads(operations: Sequence[Operation], seconds: Sequence[float], threads: int) -> Iterator[Turn]:
    """As so many threads of a CPU run them, if each operation takes so many seconds."""
    waiting = _Waiting(operations)
    workers = [_Worker() for _ in range(max(1, threads))]
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
    """A thread: what it runs next, and what it has left to whoever is idle, the newest first."""

    own: deque[int] = field(default_factory=deque)
    left: deque[int] = field(default_factory=deque)
    busy: bool = False

    def take(self, ready: Sequence[int], seconds: Sequence[float]) -> None:
        """Divide what has become ready."""
        long = [place for place in ready if seconds[place] >= CHEAP]
        self.own += [place for place in ready if seconds[place] < CHEAP]
        if long and not self.own:
            self.own.append(long.pop())
        self.left.extendleft(long)

    def next(self, workers: Sequence[_Worker]) -> int | None:
        """What it runs now: its own, else the newest that it left, else the oldest that another did."""
        if self.own:
            return self.own.popleft()
        if self.left:
            return self.left.popleft()
        return next((each.left.pop() for each in workers if each.left), None)


class _Waiting:
    """How many operations each still waits for."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        makers = {tensor: place for place, operation in enumerate(operations) for tensor, _ in operation.makes}
        self._followers: list[list[int]] = [[] for _ in operations]
        self._count = [0] * len(operations)
        for place, operation in enumerate(operations):
            for before in (*(makers[tensor] for tensor in operation.takes), *operation.after):
                self._followers[before].append(place)
                self._count[place] += 1

    def first(self) -> list[int]:
        """Those that wait for nothing."""
        return [place for place, count in enumerate(self._count) if count == 0]

    def after(self, place: int) -> list[int]:
        """Those that waited for nothing but this one any more."""
        ready = []
        for follower in self._followers[place]:
            self._count[follower] -= 1
            if self._count[follower] == 0:
                ready.append(follower)
        return ready
