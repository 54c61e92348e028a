"""What Ctrl+C does while a run is followed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.stop import Patience, StopLadder

_PATIENCE_NOW = Patience(asked=10.0, terminated=5.0)


class Reaction(Protocol):
    """What follows from Ctrl+C; `leave` says to follow the run no more."""

    leave: bool

    def interrupted(self) -> None:
        """Ctrl+C was pressed."""

    def tick(self) -> None:
        """A moment has passed."""


class StopRun:
    """The first Ctrl+C asks for a stop with a checkpoint, the second for one without, each further one is harder."""

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
        told = self._ladder.said if self._ladder.stage != "asked" or self._ladder.problem else ""
        if told and told != self._stage:
            self._stage = told
            self._say(told)
        # Nothing that this process can do will end the run: to follow it on would never end either.
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
        self._say(f"The run goes on. Stop it with: gpu-studio runs stop {self._run.id}")

    def tick(self) -> None:
        """Nothing is under way."""
