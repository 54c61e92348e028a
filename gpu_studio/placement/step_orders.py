"""The orders in which TensorFlow's executor may run the operations of a step.

On a card one thread launches them, and others what is received; on CPUs several run them. Which
of the orders a step takes is chance.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from gpu_studio.placement.liveness import Turn, WaitingOperations, Wiring

CHEAP = 3e-6
"""Seconds below which no other thread takes an operation over (`kOpIsExpensiveThresholdCycles`)."""
UNKNOWN = 1e-9
"""Seconds, instead of `CHEAP`, as long as the executor does not know what operations cost.

It begins with an estimate of 100 million cycles for each, and takes in a tenth of what it measures:
for ninety steps all operations but those that only pass memory on are handed to other threads
(`kInitialCostEstimateCycles`). """
EVENLY = (0.0,)
"""How likely the thread that has launched an operation launches the next one by that alone. On one
card alone it comes from any thread, for the few that there are find free cores."""
STAYING = 0.5, 0.9, 0.98
"""The same where several cards share the cores, and a thread may wait for one: any of these."""


def launched(
    wiring: Wiring, arriving: Collection[int], chance: Random, staying: Sequence[float] = STAYING
) -> Iterator[Turn]:
    """One operation after the other, as on a card, from the queues of several threads.

    Each tensor that is `arriving` is received in a thread, which goes on with what it makes ready;
    another launches what needs none of them. Whose operation comes next is drawn by `chance`, and
    which comes first of those that become ready together (see `in_one_queue`).
    """
    waiting, stays = WaitingOperations(wiring), chance.choice(staying)
    received = {
        place for place, made in enumerate(wiring.makes) if any(t in arriving for t in made)
    }
    queues = [deque([place]) for place in waiting.first if place in received]
    queues.append(deque(place for place in waiting.first if place not in received))
    queue = queues[-1]
    while busy := [each for each in queues if each]:
        if not queue or chance.random() > stays:
            queue = chance.choice(busy)
        place = queue.popleft()
        yield wiring.begins[place]
        yield wiring.ends[place]
        ready = waiting.after(place)
        chance.shuffle(ready)
        queue += [each for each in ready if each not in received]
        queues += [deque([each]) for each in ready if each in received]


def updated_late(wiring: Wiring, received: Collection[int]) -> Iterator[Turn]:
    """One operation after the other, where nobody goes on with what is `received` until the end.

    It is received as soon as it can be: where cores are few, its threads may wait for one as long
    as others compute.
    """
    waiting = WaitingOperations(wiring)
    receiving = {
        place for place, made in enumerate(wiring.makes) if any(t in received for t in made)
    }
    ready, late = deque(waiting.first), deque[int]()
    while ready or late:
        place = ready.popleft() if ready else late.popleft()
        yield wiring.begins[place]
        yield wiring.ends[place]
        after = waiting.after(place)
        (late if place in receiving else ready).extend(x for x in after if x not in receiving)
        ready.extendleft(x for x in after if x in receiving)


def in_threads(
    wiring: Wiring, seconds: Sequence[float], threads: int, cheap: float = CHEAP
) -> Iterator[Turn]:
    """The order on `threads` CPU threads, if operation i takes `seconds[i]`.

    It varies from step to step with the time of each operation. A thread continues with the
    operations that its last one made ready: with the cheap ones, one after the other, and the last
    of the expensive ones; it leaves the others to idle threads. Cheap ones take less than `cheap`
    seconds. A step is a turn of a loop: what waits for nothing in it becomes ready in one thread,
    as if one operation had ended, so that updates that need no gradient come first.
    """
    waiting = WaitingOperations(wiring)
    workers = [_Worker(cheap) for _ in range(max(1, threads))]
    workers[0].take(waiting.first, seconds)
    running: list[tuple[float, int, int]] = []
    idle = list(range(len(workers)))
    now = 0.0
    while True:
        for number in idle[:]:
            place = workers[number].next(workers)
            if place is not None:
                idle.remove(number)
                heapq.heappush(running, (now + seconds[place], number, place))
                yield wiring.begins[place]
        if not running:
            return
        now, number, place = heapq.heappop(running)
        insort(idle, number)
        yield wiring.ends[place]
        workers[number].take(waiting.after(place), seconds)


@dataclass(slots=True)
class _Worker:
    """A thread: what it runs next, and the operations it leaves to idle threads, newest first."""

    cheap: float
    own: deque[int] = field(default_factory=deque)
    left: deque[int] = field(default_factory=deque)

    def take(self, ready: Sequence[int], seconds: Sequence[float]) -> None:
        """Distribute the operations that have become ready."""
        if not ready:
            return
        long: list[int] = []
        for place in ready:
            (long if seconds[place] >= self.cheap else self.own).append(place)
        if long and not self.own:
            self.own.append(long.pop())
        self.left.extendleft(long)

    def next(self, workers: Sequence[_Worker]) -> int | None:
        """The next operation: its own, else the newest it left, else the oldest of another."""
        if self.own:
            return self.own.popleft()
        if self.left:
            return self.left.popleft()
        for each in workers:
            if each.left:
                return each.left.pop()
        return None
