"""What each worker has done: its steps, its samples, how fast, and how old its weights were."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpu_studio.contract import WorkerShare

RECENT_SECONDS = 10.0
"""The pace is that of so long."""


@dataclass(frozen=True, slots=True)
class StepDone:
    """A step, or a part of one, that `worker` has done in so many seconds.

    `lag` are the updates that others made while it was computed.
    """

    worker: int
    samples: int
    lag: int
    seconds: float


@dataclass(slots=True)
class _Tally:
    steps: int = 0
    samples: int = 0
    seconds: float = 0.0
    lag: int = 0
    lag_most: int = 0
    recent: deque[tuple[float, int]] = field(default_factory=deque)


class Shares:
    """Adds up what workers have done."""

    def __init__(self, workers: int, now: Callable[[], float] = time.monotonic) -> None:
        self._tallies = [_Tally() for _ in range(workers)]
        self._now = now
        self._began: float | None = None

    def begin(self) -> None:
        """Work is handed out from now on, if it was not before."""
        self._began = self._now() if self._began is None else self._began

    def add(self, done: StepDone) -> None:
        """Count in what was done."""
        tally = self._tallies[done.worker]
        tally.steps += 1
        tally.samples += done.samples
        tally.seconds += done.seconds
        tally.lag += done.lag
        tally.lag_most = max(tally.lag_most, done.lag)
        tally.recent.append((self._now(), done.samples))

    def of_workers(self) -> Sequence[WorkerShare]:
        """What each worker has done."""
        return [self._share(index, tally) for index, tally in enumerate(self._tallies)]

    def _share(self, index: int, tally: _Tally) -> WorkerShare:
        now = self._now()
        began = now if self._began is None else self._began
        span = min(RECENT_SECONDS, now - began)
        while tally.recent and tally.recent[0][0] < now - RECENT_SECONDS:
            tally.recent.popleft()
        lately = sum(samples for _, samples in tally.recent)
        return WorkerShare(
            index=index,
            steps=tally.steps,
            samples=tally.samples,
            pace=lately / span if span > 0 else 0.0,
            seconds=tally.seconds / max(tally.steps, 1),
            lag=tally.lag / max(tally.steps, 1),
            lag_most=tally.lag_most,
        )
