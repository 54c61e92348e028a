"""A run's events as lines to read: what happened, without its every step."""

from __future__ import annotations

from itertools import islice

from gpu_studio.common import figures
from gpu_studio.common.figures import grouped, plural
from gpu_studio.contract import events
from gpu_studio.contract.events import ENDED, AnyEvent
from gpu_studio.runs.reading.log_lines import Level, LogLine, LogLines
from gpu_studio.runs.reading.reached import saved_at

_ENDS = {
    "completed": "finished",
    "early_stopping": "finished early: the monitored metric no longer improved",
    "stopped": "stopped, with a checkpoint",
    "stopped_now": "stopped, without a checkpoint",
}


class RunLog:
    """The newest ten thousand lines of a run; `total` counts all lines so far."""

    def __init__(self) -> None:
        self._lines = LogLines()

    @property
    def total(self) -> int:
        """The number of all lines so far."""
        return self._lines.total

    def add(self, event: AnyEvent) -> None:
        """Take in the run's next event; most give no line."""
        level, message = _reported(event)
        if message:
            self.say(event.time, level, message)

    def say(self, time: float, level: Level, message: str) -> None:
        """Add a line of the reader's own, at `time` (seconds since 1970, UTC)."""
        self._lines.say(time, level, message)

    def since(self, seen: int) -> list[LogLine]:
        """Return the lines after the first `seen`, as far as they are kept, oldest first."""
        fresh = min(self.total - seen, len(self._lines))
        return list(islice(self._lines, len(self._lines) - fresh, None))


def _reported(event: AnyEvent) -> tuple[Level, str]:
    match event:
        case events.Log():
            return "info", event.message
        case events.Warned():
            return "warning", f"{event.message} {event.suggestion}".rstrip()
        case events.Failed():
            return "error", event.message
        case events.StateChanged() if event.state not in ENDED:  # an end has an event of its own
            return "info", f"{event.state}: {event.reason}" if event.reason else event.state
        case events.Epoch():
            return "info", _epoch(event)
        case events.Checkpoint():
            return "info", _checkpoint(event)
        case events.Finished():
            return "info", f"{_ENDS[event.reason]} {_values(event.metrics)}".rstrip()
    return "info", _beginning(event)


def _beginning(event: AnyEvent) -> str:
    match event:
        case events.Started():
            begun = f"started as process {event.pid} on {event.host}"
            resumed = f", resumed from {event.resumed_from} at step {grouped(event.from_step)}"
            return f"{begun}{resumed}" if event.resumed_from else begun
        case events.Devices():
            reduced = f", all-reduce {event.all_reduce}" if event.all_reduce else ""
            on = ", ".join(event.replicas)
            return f"TensorFlow {event.tensorflow}: {event.strategy} on {on}{reduced}"
        case events.Model():
            parameters = plural(event.parameters, "parameter")
            return (
                f"{event.name}, {parameters}; {event.data}, "
                f"{plural(event.train_samples, 'sample')} to train on"
            )
    return ""


def _epoch(event: events.Epoch) -> str:
    return f"epoch {grouped(event.epoch)} {_values(event.metrics)}"


def _values(metrics: dict[str, float | None]) -> str:
    return " ".join(f"{name} {figures.metric(each)}" for name, each in metrics.items())


def _checkpoint(event: events.Checkpoint) -> str:
    best = " best," if event.best else ""
    return (
        f"checkpoint{best} {saved_at(event.epoch, event.step)} "
        f"({figures.size(event.bytes)}, {figures.span(event.seconds)})"
    )
