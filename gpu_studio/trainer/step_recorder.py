"""Some steps of a run under TensorFlow's profiler, once they are warm; and its first call watched. No run fails for it.

What is made of them are events. It is done once, and the time that it takes is no part of the call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from gpu_studio.runs.events import Event
from gpu_studio.trainer.call import Call
from gpu_studio.trainer.profiled import Executed, profiled

RECORDED_CALL: Final = 3
"""The first call is compiled, the second finds its buffers: the third is the first that is like all others."""
Train = Callable[[Any, int, int], Call]
Entered = TypeVar("Entered")


@dataclass(frozen=True, slots=True)
class Recorded:
    """All that was executed in `steps` steps of the run, the first of them number `step`.

    `input_seconds` of their time were spent waiting for data.
    """

    executed: Sequence[Executed]
    step: int
    steps: int
    input_seconds: float


class StepRecorder:
    """Trains as it is told, and tells what `readers` make of the first steps of the third call."""

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
        """`train(stream, first_step, count)`, watched in the first call and recorded in part in the third."""
        self._calls += 1
        if self._calls == 1:
            with self._watching():
                return train(stream, first_step, count)
        if self._calls != RECORDED_CALL:
            return train(stream, first_step, count)
        steps = min(count, self._most)
        call = self._recorded(train, stream, first_step, steps)
        return call if count == steps else call.followed_by(train(stream, first_step + steps, count - steps))

    def _recorded(self, train: Train, stream: Any, first_step: int, steps: int) -> Call:
        began = time.perf_counter()
        # Another profiler may be at work, the disk be full, the driver forbid it: then nothing is told.
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
def if_possible(made: Callable[[], AbstractContextManager[Entered]], otherwise: Entered) -> Iterator[Entered]:
    """What `made()` gives, or `otherwise` where it cannot begin; what it raises at its end is passed over.

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
