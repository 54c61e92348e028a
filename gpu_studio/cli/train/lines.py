"""Events as lines for a terminal's scrollback, a file or a pipe."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_studio.runs import events
from gpu_studio.runs.events import AnyEvent
from gpu_studio.runs.failures.diagnosis import Explanation
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.wording import duration, metric, plural, rate
from gpu_studio.thousands import grouped


def lines_of(event: AnyEvent, history: History) -> Iterator[str]:
    """Yield the lines that tell of `event`; most events have none. `history` already knows of it."""
    match event:
        case events.Started():
            yield _started(event)
        case events.Devices():
            yield _devices(event)
        case events.Model():
            yield _model(event)
        case events.Epoch():
            yield _epoch(event, history)
        case events.StateChanged(state="paused" | "stopping"):
            yield f"{event.state}{': ' if event.reason else ''}{event.reason}"
        case events.Warned():
            yield f"warning: {event.message} {event.suggestion}".rstrip()
        case events.Log():
            yield event.message


def ending_of(history: History, explanation: Explanation) -> Iterator[str]:
    """Yield the lines that tell how a run ended, and what can be done now."""
    if history.finished:
        yield _finished(history.finished, history.reached)
        if history.finished.reason == "stopped":
            yield f"Go on with: gpu-studio resume {history.run}"
        return
    yield f"{history.state}: {explanation.message}"
    for suggestion in (*explanation.suggestions, *explanation.settings):
        yield f"  - {suggestion}"


def metrics_in_words(metrics: dict[str, float | None]) -> str:
    """Write metrics on one line: `loss 0.1234  val_loss 0.2345`."""
    return "  ".join(f"{name} {metric(value)}" for name, value in metrics.items())


def _started(event: events.Started) -> str:
    resumed = f", resumed from {event.resumed_from} at step {grouped(event.from_step)}" if event.resumed_from else ""
    return f"{event.plan}: run {event.run}{resumed}"


def _devices(event: events.Devices) -> str:
    replicas = f"{len(event.replicas)} {'replica' if len(event.replicas) == 1 else 'replicas'}"
    reduce = f", {event.all_reduce}" if event.all_reduce else ""
    holding = "layers" if event.strategy == "placed" else replicas
    return f"{event.strategy}{reduce}: {holding} on {', '.join(event.replicas)}"


def _model(event: events.Model) -> str:
    model = f"{event.name}, {plural(event.parameters, 'parameter')}"
    data = f"{event.data}, {plural(event.train_samples, 'sample')}"
    steps = f"{grouped(event.epochs)} × {grouped(event.steps_per_epoch)} steps of {grouped(event.global_batch)}"
    return "; ".join((model, data, steps))


def _epoch(event: events.Epoch, history: History) -> str:
    total = f"/{grouped(history.epochs_total)}" if history.epochs_total else ""
    pace = f"{duration(event.seconds)}  {rate(event.samples_per_second)}"
    return f"epoch {grouped(event.epoch)}{total}  {metrics_in_words(event.metrics)}  {pace}"


def _finished(event: events.Finished, reached: str) -> str:
    took = duration(event.seconds)
    words = {
        "completed": f"finished after {took}",
        "early_stopping": f"finished after {took}, because it did not get better any more",
        "stopped": f"stopped {reached}, in {took}, with a checkpoint",
        "stopped_now": f"stopped {reached}, in {took}, without a checkpoint",
    }[event.reason]
    figures = metrics_in_words(event.metrics)
    return f"{words}{': ' if figures else ''}{figures}"
