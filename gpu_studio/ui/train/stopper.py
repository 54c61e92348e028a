"""Stop a run by a timer: politely without a time limit, or up the whole ladder."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.stop import Patience, Stage, StopLadder

TICK_MS: Final = 200
POLITE: Final = Patience(asked=math.inf, terminated=math.inf)
NOW: Final = Patience(asked=5.0, terminated=5.0)
OFFER_AFTER: Final = 10.0

_POLITE = "stopping: this call ends, then a checkpoint is written…"
_NOW = "stopping without a checkpoint…"


class Stopper(QObject):
    """Stops a run, politely or now.

    A polite stop waits for as long as it takes; after ten seconds it is `overdue`, and the person
    may `escalate`: SIGTERM first, then SIGKILL. A stop `now` goes up these rungs by itself.

    `changed` says that `words` changed.
    """

    changed = Signal()

    def __init__(
        self,
        run: RunDirectory,
        *,
        now: bool = False,
        parent: QObject | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(parent)
        self.now = now
        self.clock = clock
        self._ladder = StopLadder(run, now=now, patience=NOW if now else POLITE, clock=clock)
        self.since = clock()
        self._words = self.words
        self.timer = QTimer(self)
        self.timer.timeout.connect(self.tick)
        self.timer.start(TICK_MS)

    @property
    def stage(self) -> Stage:
        """The rung of the ladder."""
        return self._ladder.stage

    @property
    def overdue(self) -> bool:
        """Whether a polite stop has waited so long that going further should be offered."""
        waited = self.clock() - self.since
        return not self.now and waited >= OFFER_AFTER and self.stage in ("asked", "terminated")

    @property
    def words(self) -> str:
        """What is being waited for; empty once the trainer is gone."""
        if self._ladder.problem:
            return self._ladder.problem
        refusal = self._ladder.refusal
        why = f"its folder takes no request ({refusal})" if refusal else "it did not answer"
        return {
            "asked": _NOW if self.now else _POLITE,
            "terminated": f"{why}: SIGTERM sent, waiting for it to end…",
            "killed": f"{why}: killed, waiting for the system to clear it away…",
        }.get(self.stage, "")

    @property
    def next_rung(self) -> str:
        """What `escalate` would do, as the words on a button; empty if there is nothing more."""
        return {"asked": "Terminate", "terminated": "Kill"}.get(self.stage, "")

    def escalate(self) -> None:
        """Climb one rung now."""
        self._ladder.escalate()
        self.since = self.clock()
        self._tell()

    def close(self) -> None:
        """Stop watching."""
        self.timer.stop()

    def tick(self) -> None:
        """Go on to what the ladder does next, if it is time."""
        if self._ladder.advance() == "gone":
            self.timer.stop()
        self._tell()

    def _tell(self) -> None:
        before, self._words = self._words, self.words
        if before != self._words or self.overdue:
            self.changed.emit()
