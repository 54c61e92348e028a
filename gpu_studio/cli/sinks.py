"""Outputs for the events of a followed run: JSON lines, plain lines, or a live display."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Protocol

from gpu_studio.cli.command import note, say, say_json
from gpu_studio.common.figures import duration, grouped, metrics_in_words, plural, throughput
from gpu_studio.contract import AnyEvent, RunDirectory, StateChanged, events
from gpu_studio.contract.events import as_dict
from gpu_studio.plan import strategy_named
from gpu_studio.runs.diagnosis import Explanation
from gpu_studio.runs.paths import run_command
from gpu_studio.runs.reading.history import History


class Sink(Protocol):
    """Where a follower writes: each event, its own messages, regular refreshes, and the end."""

    def event(self, event: AnyEvent, history: History) -> None:
        """Process the run's next event, which `history` already contains."""

    def message(self, text: str) -> None:
        """Process a line that is not the run's, such as the effect of Ctrl+C."""

    def refresh(self, history: History) -> None:
        """All events so far were reported."""

    def ended(self, run: RunDirectory, history: History, explanation: Explanation) -> None:
        """The run is over, and why."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class JsonSink:
    """Each event as one JSON document per line.

    A lost run ends with a `state` written by the reader.
    """

    def event(self, event: AnyEvent, history: History) -> None:  # noqa: ARG002
        """Write the event."""
        say_json(as_dict(event), indent=None)

    def message(self, text: str) -> None:
        """Write the line to stderr: stdout is JSON."""
        note(text)

    def refresh(self, history: History) -> None:
        """Nothing stands on a screen."""

    def ended(
        self,
        run: RunDirectory,  # noqa: ARG002
        history: History,
        explanation: Explanation,
    ) -> None:
        """Write the end that the trainer could not write."""
        if history.state == "lost":
            say_json(as_dict(StateChanged(state="lost", reason=explanation.message)), indent=None)

    def close(self) -> None:
        """Nothing to undo."""


class PlainSink:
    """A line for each epoch and for each thing worth a line."""

    def event(self, event: AnyEvent, history: History) -> None:
        """Write the event's lines."""
        for line in lines_of(event, history):
            self._write(line)

    def message(self, text: str) -> None:
        """Write the line."""
        self._write(text)

    def refresh(self, history: History) -> None:
        """Nothing stands on a screen."""

    def ended(self, run: RunDirectory, history: History, explanation: Explanation) -> None:
        """Write how the run ended."""
        self.close()
        for line in ending_of(run, history, explanation):
            self._write(line)

    def close(self) -> None:
        """Nothing to undo."""

    def _write(self, line: str) -> None:
        say(line)


class LiveSink(PlainSink):
    """The same lines, and below them a display that moves."""

    def __init__(self) -> None:
        # Imported where one is looked at: what draws it brings Rich.
        from gpu_studio.cli.display import LiveDisplay

        self._display = LiveDisplay()

    def refresh(self, history: History) -> None:
        """Draw the display anew."""
        self._display.refresh(history)

    def close(self) -> None:
        """Take the display away."""
        self._display.close()

    def _write(self, line: str) -> None:
        self._display.write(line)


def sink_for(*, json: bool) -> Sink:
    """Choose by what was asked for, and by whether a person looks at stdout."""
    if json:
        return JsonSink()
    return LiveSink() if sys.stdout.isatty() else PlainSink()


def lines_of(event: AnyEvent, history: History) -> Iterator[str]:
    """Yield the lines that report `event`; most events have none. `history` already contains it."""
    match event:
        case events.Started():
            yield _started(event)
        case events.Devices():
            yield _devices(event)
        case events.Model():
            yield _model(event)
        case events.Epoch():
            yield _epoch(event, history)
        case events.ClusterStarted():
            yield history.workers.words
        case events.StateChanged(state="paused" | "stopping" | "starting") if (
            event.reason or event.state != "starting"
        ):
            yield f"{event.state}{': ' if event.reason else ''}{event.reason}"
        case events.Warned():
            yield f"warning: {event.message} {event.suggestion}".rstrip()
        case events.Log():
            yield event.message
        case events.PhaseBegan() | events.Xla() if event.words:
            yield event.words


def ending_of(run: RunDirectory, history: History, explanation: Explanation) -> Iterator[str]:
    """Yield the lines that report how a run ended, and what can be done now."""
    if history.finished:
        yield _finished(history.finished, history.reached)
        if history.finished.because:
            yield history.finished.because
        if history.finished.reason == "stopped":
            yield _going_on(run, history, history.finished)
        return
    yield f"{history.state}: {explanation.message}"
    for suggestion in (*explanation.suggestions, *explanation.settings):
        yield f"  - {suggestion}"


def _going_on(run: RunDirectory, history: History, stopped: events.Finished) -> str:
    if history.epochs_total and stopped.epoch >= history.epochs_total:
        test = run_command("runs evaluate", run.path)
        return f"All its epochs are trained. Test it with: {test}"
    return f"Go on with: {run_command('resume', run.path)}"


def _started(event: events.Started) -> str:
    resumed = (
        f", resumed from {event.resumed_from} at step {grouped(event.from_step)}"
        if event.resumed_from
        else ""
    )
    return f"{event.plan}: run {event.run}{event.on_practice}{resumed}"


def _devices(event: events.Devices) -> str:
    replicas = f"{len(event.replicas)} {'replica' if len(event.replicas) == 1 else 'replicas'}"
    reduce = f", {event.all_reduce}" if event.all_reduce else ""
    held = "layers" if strategy_named(event.strategy).places_layers else replicas
    each = " of each worker" if strategy_named(event.strategy).clusters else ""
    return f"{event.strategy}{reduce}: {held} on {', '.join(event.replicas)}{each}"


def _model(event: events.Model) -> str:
    model = f"{event.name}, {plural(event.parameters, 'parameter')}"
    many, length = event.train_samples, event.steps_per_epoch
    data = f"{event.data}, {'in batches' if many is None else plural(many, 'sample')}"
    steps = (
        f"{plural(event.epochs, 'epoch')} of unknown length, in batches of"
        if length is None
        else f"{grouped(event.epochs)} × {grouped(length)} steps of"
    )
    steps = f"{steps} {grouped(event.global_batch)}"
    return "; ".join((model, data, steps))


def _epoch(event: events.Epoch, history: History) -> str:
    total = f"/{grouped(history.epochs_total)}" if history.epochs_total else ""
    pace = f"{duration(event.seconds)}  {throughput(event.samples_per_second)}"
    return f"epoch {grouped(event.epoch)}{total}  {metrics_in_words(event.metrics)}  {pace}"


def _why_early(event: events.Finished) -> str:
    return f"{event.by} ended it" if event.by else "it did not get better any more"


def _finished(event: events.Finished, reached: str) -> str:
    # As every list has it, from the start of its process; older runs reported the training alone.
    took = duration(event.elapsed or event.seconds)
    words = {
        "completed": f"finished after {took}",
        "early_stopping": f"finished after {took}, because {_why_early(event)}",
        "stopped": f"stopped {reached}, in {took}, with a checkpoint",
        "stopped_now": f"stopped {reached}, in {took}, without a checkpoint",
    }[event.reason]
    figures = metrics_in_words(event.metrics)
    return f"{words}{': ' if figures else ''}{figures}"
