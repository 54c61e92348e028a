"""Where the events of a followed run go: JSON lines, plain lines, or a live display."""

from __future__ import annotations

import sys
from typing import Protocol

from gpu_studio.cli.output import console, note, say, say_json
from gpu_studio.cli.train.lines import ending_of, lines_of
from gpu_studio.runs.events import AnyEvent, StateChanged, as_dict
from gpu_studio.runs.failures.diagnosis import Explanation
from gpu_studio.runs.reading.history import History


class Sink(Protocol):
    """What a follower tells: each event, what it does itself, the state now and then, and the end."""

    def event(self, event: AnyEvent, history: History) -> None:
        """Take the run's next event, which `history` already knows of."""

    def message(self, text: str) -> None:
        """Take a line that is not the run's, such as what Ctrl+C did."""

    def refresh(self, history: History) -> None:
        """Take note that all events so far were told."""

    def ended(self, history: History, explanation: Explanation) -> None:
        """Take note that the run is over, and why."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class JsonSink:
    """Each event as one JSON document a line. A run that was lost ends in a `state` of the reader's own."""

    def event(self, event: AnyEvent, history: History) -> None:  # noqa: ARG002
        """Write the event."""
        say_json(as_dict(event), indent=None)

    def message(self, text: str) -> None:
        """Write the line to stderr: stdout is JSON."""
        note(text)

    def refresh(self, history: History) -> None:
        """Nothing stands on a screen."""

    def ended(self, history: History, explanation: Explanation) -> None:
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

    def ended(self, history: History, explanation: Explanation) -> None:
        """Write how the run ended."""
        self.close()
        for line in ending_of(history, explanation):
            self._write(line)

    def close(self) -> None:
        """Nothing to undo."""

    def _write(self, line: str) -> None:
        say(line)


class LiveSink(PlainSink):
    """The same lines, and below them a display that moves."""

    def __init__(self) -> None:
        from rich.live import Live

        from gpu_studio.cli.train.display import Display

        self._display = Display()
        self._console = console()
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def refresh(self, history: History) -> None:
        """Draw the display anew."""
        self._live.update(self._display.block(history), refresh=True)

    def close(self) -> None:
        """Take the display away."""
        self._live.stop()

    def _write(self, line: str) -> None:
        self._console.print(line)


def sink_for(*, json: bool) -> Sink:
    """Choose by what was asked for, and by whether a person looks at stdout."""
    if json:
        return JsonSink()
    return LiveSink() if sys.stdout.isatty() else PlainSink()
