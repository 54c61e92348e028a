"""Record some warm steps of a run with TensorFlow's profiler, and watch its first call.

The recordings become events. It is done once, its time does not count as part of the call, and no
run fails for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from gpu_studio.contract.events import Event
from gpu_studio.trainer.call import Call
from gpu_studio.trainer.profiled import Executed, profiled

RECORDED_CALL: Final = 3
"""The first call is compiled, the second finds its buffers.

The third is the first that is like all others.
"""
Train = Callable[[Any, int, int], Call]
Entered = TypeVar("Entered")


@dataclass(frozen=True, slots=True)
class Recorded:
    """Everything executed in `steps` steps of the run, of which the first is step `step`.

    `input_seconds` of their time were spent waiting for data.
    """

    executed: Sequence[Executed]
    step: int
    steps: int
    input_seconds: float


class StepRecorder:
    """Trains as requested, and reports what `readers` make of the first steps of the third call."""

    def __init__(
        self,
        watching: Callable[[], AbstractContextManager[object]],
        readers: Sequence[Callable[[Recorded], Event | None]],
        tell: Callable[[Event], object],
        most_steps: int = 1,
    ) -> None:
        """`watching` is entered for the first call; at most `most_steps` are recorded."""
        self._watching, self._readers, self._tell, self._most = watching, readers, tell, most_steps
        self._calls = 0

    def train(self, train: Train, stream: Any, first_step: int, count: int) -> Call:
        """Call `train(stream, first_step, count)`.

        Watch the first call, record part of the third.
        """
        self._calls += 1
        if self._calls == 1:
            with self._watching():
                return train(stream, first_step, count)
        if self._calls != RECORDED_CALL:
            return train(stream, first_step, count)
        steps = min(count, self._most)
        call = self._recorded(train, stream, first_step, steps)
        return (
            call
            if count == steps
            else call.followed_by(train(stream, first_step + steps, count - steps))
        )

    def _recorded(self, train: Train, stream: Any, first_step: int, steps: int) -> Call:
        began = time.perf_counter()
        # Another profiler may be active, the disk full, or the driver may forbid it.
        with if_possible(profiled, list[Executed]()) as executed:
            trained_from = time.perf_counter()
            call = train(stream, first_step, steps)
            trained = time.perf_counter() - trained_from
        self._report(Recorded(executed, first_step, steps, call.input_seconds))
        return replace(call, aside_seconds=time.perf_counter() - began - trained)

    def _report(self, recorded: Recorded) -> None:
        for read in self._readers:
            event = None
            with suppress(Exception):
                event = read(recorded)
            if event is not None:
                self._tell(event)


@contextmanager
def if_possible(
    made: Callable[[], AbstractContextManager[Entered]], otherwise: Entered
) -> Iterator[Entered]:
    """Enter `made()`, or `otherwise` if it fails to begin; ignore what it raises at its end.

    What fails inside fails as ever.
    """
    stack, entered = ExitStack(), otherwise
    with suppress(Exception):
        entered = stack.enter_context(made())
    try:
        yield entered
    finally:
        with suppress(Exception):
            stack.close()
