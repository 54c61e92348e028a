"""The events of worker 0 on their way into the run's own, without what was reported before.

After a loss all workers go on from the newest checkpoint. The steps from there to the loss are
trained again, to the same losses: a reader sees each step once.
"""

from __future__ import annotations

from msgspec.structs import replace

from gpu_studio.contract import (
    Checkpoint,
    Epoch,
    Failed,
    Finished,
    LearningRate,
    Started,
    StateChanged,
    Steps,
)
from gpu_studio.contract.events import Event
from gpu_studio.trainer.progress import Reached, TrainingProgress
from gpu_studio.trainer.telemetry import TakesEvents


class Relay:
    """Passes events on to `writer`, and keeps `reached` up to date."""

    def __init__(self, writer: TakesEvents, reached: Reached) -> None:
        self._writer, self._reached = writer, reached
        self._rated = -1
        """The last step of which the learning rate is reported: it comes after its step."""
        self._samples = self._checkpoint = 0
        self._before: dict[int, int] = {}
        """Samples before a step, for those at which calls since the last two checkpoints began."""

    def tell(self, event: Event) -> None:
        """Pass on what is new of an event."""
        new = self._new(event)
        if new is not None:
            self._writer.write(new)
            self._note(new)

    def _new(self, event: Event) -> Event | None:
        at = self._reached.progress
        match event:
            case Started() | Finished() | Failed():
                return None  # the supervisor's own
            case StateChanged(state="finished" | "stopped" | "failed" | "starting"):
                return None
            case Steps():
                return self._after(event, at.step)
            case Epoch() if event.epoch <= at.epoch:
                return None
            case LearningRate() if event.step <= self._rated:
                return None
        return event

    def _note(self, event: Event) -> None:
        at = self._reached.progress
        match event:
            case Steps():
                step = event.first_step + len(event.losses)
                self._reached.progress = TrainingProgress(epoch=at.epoch, step=step)
            case LearningRate():
                self._rated = event.step
            case Checkpoint():
                before, self._checkpoint = self._checkpoint, event.step
                self._before = {s: n for s, n in self._before.items() if s >= before}
            case Epoch():
                self._reached.progress = TrainingProgress(epoch=event.epoch, step=event.step)

    def _after(self, event: Steps, step: int) -> Steps | None:
        """The part of a call from `step` on; None if there is none.

        Of workers that train apart, each with batches of its own, steps that are trained again may
        have other samples than before: what is counted is what comes to the same sum.
        """
        known, count = step - event.first_step, len(event.losses)
        end = self._before.setdefault(event.first_step, self._samples) + event.samples
        self._before[event.first_step + count] = end
        if known >= count:
            return None
        samples, self._samples = max(0, end - self._samples), end
        share = min(1.0, (count - known) / count)
        return replace(
            event,
            first_step=max(step, event.first_step),
            losses=event.losses[max(0, known) :],
            samples=samples,
            seconds=event.seconds * share,
            input_seconds=event.input_seconds * share,
        )
