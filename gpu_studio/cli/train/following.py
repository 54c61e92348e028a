"""Follow a run to its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final

from gpu_studio.cli import exit_codes
from gpu_studio.cli.train.interrupts import Reaction
from gpu_studio.cli.train.sinks import Sink
from gpu_studio.cli.train.watching import Watch
from gpu_studio.interrupts import Interrupts
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.end_told import mark_followed
from gpu_studio.runs.failures.diagnosis import explain
from gpu_studio.runs.launch import Launched
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.tail import Tail
from gpu_studio.runs.state import is_live

_POLL_SECONDS: Final = 0.1
# After its last word the trainer only has to let go of its devices; there is nothing to wait long for.
_FAREWELL_SECONDS: Final = 10.0


class Follower:
    """Reads one run's events as they come, tells them to a sink, and notices when the run is over."""

    def __init__(self, run: RunDirectory, sink: Sink, launched: Launched | None = None) -> None:
        self.run = run
        self.history = History()
        self._sink = sink
        self._launched = launched
        self._tail = Tail(run.events_file)
        self._told_end_at: float | None = None
        self._watch = Watch(run, sink)

    def look(self) -> bool:
        """Tell what is new; return whether the run is over, and its process gone or not worth waiting for."""
        exit_code = self._launched.poll() if self._launched else None
        # Asked before reading: a trainer that ends in between has said its last word in what is read.
        live = is_live(self.run) and exit_code is None
        self._tell_new()
        if live:
            self._watch.look(self.history)
        self._sink.refresh(self.history)
        if self.history.ended:
            return not live or self._farewell_is_over()
        if not live:
            self.history.conclude_lost()
        return not live

    def tell_end(self) -> int:
        """Tell how the run ended, and return what the command's exit code shall be."""
        exit_code = self._launched.poll() if self._launched else None
        self._sink.ended(self.history, explain(self.run, exit_code))
        if sys.stdout.isatty():
            mark_followed(self.run)
        return exit_code_of(self.history)

    def _tell_new(self) -> None:
        while True:
            for event in self._tail.read():
                self.history.apply(event)
                self._sink.event(event, self.history)
            if not self._tail.waiting:
                return

    def _farewell_is_over(self) -> bool:
        now = time.monotonic()
        if self._told_end_at is None:
            self._told_end_at = now
        return now - self._told_end_at > _FAREWELL_SECONDS


def follow(
    run: RunDirectory,
    sink: Sink,
    interrupts: Interrupts,
    react: Callable[[RunDirectory, Callable[[str], None]], Reaction],
    launched: Launched | None = None,
) -> int:
    """Follow `run` until it is over, or left by Ctrl+C; return the exit code of the command."""
    reaction = react(run, sink.message)
    follower = Follower(run, sink, launched)
    try:
        while not follower.look():
            _react(interrupts, reaction)
            if reaction.leave:
                return exit_codes.INTERRUPTED
        return follower.tell_end()
    finally:
        sink.close()


def exit_code_of(history: History) -> int:
    """Return the exit code that says how a run ended."""
    if history.finished:
        completed = history.finished.reason in ("completed", "early_stopping")
        return exit_codes.OK if completed else exit_codes.STOPPED
    return exit_codes.FAILED if history.state == "failed" else exit_codes.LOST


def _react(interrupts: Interrupts, reaction: Reaction) -> None:
    interrupts.wait(_POLL_SECONDS)
    for _ in range(interrupts.take()):
        reaction.interrupted()
    reaction.tick()
