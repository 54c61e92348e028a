"""One step of a placed run under TensorFlow's profiler, once it is warm. A run never fails for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from gpu_studio.runs.events import Event
from gpu_studio.trainer.placed.assignment import Seat
from gpu_studio.trainer.placed.step_timeline import timeline_of
from gpu_studio.trainer.profiled import Executed, profiled

WARM_CALLS = 1
"""Calls between the first, which is compiled and watched by others, and the one that is recorded."""


class StepRecorder:
    """Tells the timeline of the first step of the run's third call."""

    def __init__(self, seats: Sequence[Seat], micro_batches: int, tell: Callable[[Event], object]) -> None:
        self._seats, self._micro_batches, self._tell = seats, micro_batches, tell
        self._calls = 0

    def due(self) -> bool:
        """Count a call after the first, and say whether its first step is to be recorded."""
        self._calls += 1
        return self._calls == WARM_CALLS + 1

    @contextmanager
    def recording(self, step: int) -> Iterator[None]:
        """Tell, once left, when what of the step of this number was executed."""
        profile, executed = ExitStack(), list[Executed]()
        # Another profiler may be at work, the disk be full, the driver forbid it: then there is no timeline.
        with suppress(Exception):
            executed = profile.enter_context(profiled())
        try:
            yield
        finally:
            with suppress(Exception):
                profile.close()
        self._report(executed, step)

    def _report(self, executed: Sequence[Executed], step: int) -> None:
        event = None
        with suppress(Exception):
            event = timeline_of(executed, self._seats, step, self._micro_batches)
        if event is not None:
            self._tell(event)
