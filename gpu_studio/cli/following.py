"""Follow a run to its end: report its events and warnings, and act on Ctrl+C."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final, Protocol

from gpu_studio.cli.command import FAILED, INTERRUPTED, LOST, OK, STOPPED
from gpu_studio.cli.sinks import Sink
from gpu_studio.common.processes import Interrupts
from gpu_studio.contract import AnyEvent, RunDirectory, Tail
from gpu_studio.contract.events import decode
from gpu_studio.contract.failure_texts import is_disk_full
from gpu_studio.runs.end_reports import mark_followed
from gpu_studio.runs.launch import Launched
from gpu_studio.runs.left_job import explained
from gpu_studio.runs.paths import run_command
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.state import is_live
from gpu_studio.runs.stop import Patience, StopLadder
from gpu_studio.runs.warnings import Concern, concerns_of
from gpu_studio.runs.warnings_cards import CardWatch

_PATIENCE_NOW = Patience(asked=10.0, terminated=5.0)


class Reaction(Protocol):
    """The reaction to Ctrl+C; `leave` says to stop following the run."""

    leave: bool

    def interrupted(self) -> None:
        """Ctrl+C was pressed."""

    def tick(self) -> None:
        """A moment has passed."""


class StopRun:
    """The first Ctrl+C requests a stop with a checkpoint, the second one without.

    Further ones escalate.
    """

    def __init__(self, run: RunDirectory, say: Callable[[str], None]) -> None:
        self.leave = False
        self._run = run
        self._say = say
        self._pressed = 0
        self._ladder: StopLadder | None = None
        self._stage = ""

    def interrupted(self) -> None:
        """Go on to the next way to stop."""
        self._pressed += 1
        if self._pressed == 1:
            self._ladder = StopLadder(self._run)
            self._say("Stopping, with a checkpoint. Ctrl+C again stops it now, without one.")
        elif self._pressed == 2:
            self._ladder = StopLadder(self._run, now=True, patience=_PATIENCE_NOW)
            self._say("Stopping now. Ctrl+C again ends the process.")
        elif self._ladder:
            self._ladder.escalate()
        self._tell_stage()

    def tick(self) -> None:
        """Let the ladder go on."""
        if self._ladder:
            self._ladder.advance()
            self._tell_stage()

    def _tell_stage(self) -> None:
        if self._ladder is None:
            return
        reported = (
            self._ladder.said if self._ladder.stage != "asked" or self._ladder.problem else ""
        )
        if reported and reported != self._stage:
            self._stage = reported
            self._say(reported)
        # Nothing that this process can do will end the run: following it would never end either.
        self.leave = self.leave or bool(self._ladder.problem)


class LeaveRun:
    """Ctrl+C stops the following, and leaves the run alive."""

    def __init__(self, run: RunDirectory, say: Callable[[str], None]) -> None:
        self.leave = False
        self._run = run
        self._say = say

    def interrupted(self) -> None:
        """Leave."""
        self.leave = True
        self._say(f"The run goes on. Stop it with: {run_command('runs stop', self._run.path)}")

    def tick(self) -> None:
        """Nothing is under way."""


EVERY_SECONDS: Final = 1.0


class Watch:
    """Checks a live run at most once a second, for warnings other than the trainer's own.

    Those are events.
    """

    def __init__(
        self, run: RunDirectory, sink: Sink, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = run.path
        self._cards = CardWatch(run.hardware_file)
        self._sink, self._clock = sink, clock
        self._looked = 0.0
        self._standing: tuple[Concern, ...] = ()

    def look(self, history: History) -> None:
        """Report what is new since the last call."""
        now = self._clock()
        if 0 <= now - self._looked < EVERY_SECONDS:
            return
        self._looked = now
        self._cards.read()
        cards = self._cards.sights(history.devices, now)
        before, full = self._standing, is_disk_full(self._folder)
        moment = history.time_of(now)
        self._standing = concerns_of(history, cards, now=moment, before=before, disk_full=full)
        self._tell(before)

    def _tell(self, before: tuple[Concern, ...]) -> None:
        known, standing = ({each.key for each in some} for some in (before, self._standing))
        for concern in self._standing:
            if concern.key not in known and not concern.reported:
                self._sink.message(f"warning: {concern.said}")
        for concern in before:
            if concern.key not in standing and not concern.reported:
                self._sink.message(f"over: {concern.text}")


_POLL_SECONDS: Final = 0.1
# After its last word the trainer only has to let go of its devices; there is nothing to wait long
# for.
_FAREWELL_SECONDS: Final = 10.0


class Follower:
    """Reads one run's events as they come, reports them to a sink, and notices the run's end."""

    def __init__(self, run: RunDirectory, sink: Sink, launched: Launched | None = None) -> None:
        self.run = run
        self.history = History()
        self._sink = sink
        self._launched = launched
        self._tail: Tail[AnyEvent] = Tail(run.events_file, decode)
        self._reported_end_at: float | None = None
        self._watch = Watch(run, sink)

    def look(self) -> bool:
        """Report what is new, and return whether the run is over.

        That includes that its process is gone or not worth waiting for.
        """
        exit_code = self._launched.poll() if self._launched else None
        # Asked before reading: a trainer that ends in between has said its last word in what is
        # read.
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
        """Report how the run ended, and return the command's exit code."""
        exit_code = self._launched.poll() if self._launched else None
        self._sink.ended(self.run, self.history, explained(self.run, exit_code))
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
        if self._reported_end_at is None:
            self._reported_end_at = now
        return now - self._reported_end_at > _FAREWELL_SECONDS


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
                return INTERRUPTED
        return follower.tell_end()
    finally:
        sink.close()


def exit_code_of(history: History) -> int:
    """Return the exit code that says how a run ended."""
    if history.finished:
        completed = history.finished.reason in ("completed", "early_stopping")
        return OK if completed else STOPPED
    return FAILED if history.state == "failed" else LOST


def _react(interrupts: Interrupts, reaction: Reaction) -> None:
    interrupts.wait(_POLL_SECONDS)
    for _ in range(interrupts.take()):
        reaction.interrupted()
    reaction.tick()
