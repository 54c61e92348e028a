"""One run directory as a Qt object: its events so far, its state, and requests to its trainer.

A timer stops the run: politely without a time limit, or up the whole ladder.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal

from gpu_studio.contract import (
    ENDED,
    TERMINAL,
    Action,
    AnyEvent,
    Checkpoint,
    Holder,
    LearningRate,
    Memory,
    RunDirectory,
    Slices,
    State,
    StateChanged,
    Steps,
    Tail,
    holder,
    send,
)
from gpu_studio.contract.events import decode
from gpu_studio.runs.labels import name_of, number_of, title
from gpu_studio.runs.reading.event_file import SMALLEST, Bookmarks, RunPreview
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.state import state_of
from gpu_studio.runs.stop import Astray, Patience, Stage, StopLadder, astray
from gpu_studio.ui.train.card_record import CardRecord
from gpu_studio.ui.train.readout import RunCalls
from gpu_studio.ui.train.run_log import RunLog

LIVE_MS: Final = 100
SLICE_MS: Final = 8
AHEAD_MS: Final = 200
"""How long may be looked ahead.

A disk that has to seek for each place would take seconds for all of them.
"""
FOLDER_GONE = "The folder of this run is gone"
LOOK_MS: Final = 500
FREQUENT: Final = (Steps, Memory, LearningRate)
"""What a long run's events are made of; the log has nothing of them."""

_ASKED: Final[dict[Action, str]] = {
    "pause": "asked to pause; the call under way ends first…",
    "resume": "asked to resume…",
    "checkpoint": "asked for a checkpoint; the call under way ends first…",
}


class LiveRun(QObject):
    """Follows one run, live or ended.

    The directory is read on this thread in slices of about 8 ms, so that a run of many hours opens
    without the window standing still; `reading` says that it is not all read yet, and `share_read`
    how much is. Of a long run a preview comes first: the shape of its curves, and its newest
    figures. Until `loaded`, or such a preview, `state` is None. While the trainer lives, new events
    are read ten times a second, and twice a second it is asked whether the trainer lives at all.
    What was recorded of the machine is in `record`, which is read a little beyond the end.
    `bookmarks` say where in the events which moment stands.

    `changed` says that events were read, once a slice; `state_changed` brings the new state;
    `waiting_changed` that `waiting_for` is another; `ended` comes once; `status` has something to
    say to the person. Where the directory can no longer be read, following ends, and `problem` says
    why. `astray` is a trainer that goes on in a folder that was moved.
    """

    changed = Signal()
    loaded = Signal()
    state_changed = Signal(str)
    waiting_changed = Signal()
    ended = Signal()
    status = Signal(str)

    def __init__(self, run: RunDirectory, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.run = run
        self.reading = True
        self.calls = RunCalls()
        self.log = RunLog()
        self.record = CardRecord(run.hardware_file, self)
        self.bookmarks = Bookmarks()
        self.stopper: Stopper | None = None
        self.problem = ""
        self.astray: Astray | None = None
        self._holder: Holder | None = None
        self._name = name_of(run)
        self._number = number_of(run)
        self._whole = History()
        self._seen: History | None = None
        self._ahead: Iterator[None] | None = None
        self._tail: Tail[AnyEvent] = Tail(run.events_file, decode)
        self._slices = Slices(SLICE_MS)
        self._state: State | None = None
        self._asked: Action | None = None
        self._looked = QElapsedTimer()
        self._gone = False
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._read)

    @property
    def history(self) -> History:
        """What is known of the run.

        Until a long run has been read in full, its curves are coarse in the other parts.
        """
        return self._seen or self._whole

    @property
    def share_read(self) -> float:
        """The share (0 to 1) of the events so far that has been read."""
        return self._tail.share

    @property
    def state(self) -> State | None:
        """The state of the run; None until its events so far are read, or their end is seen."""
        return self._state

    @property
    def is_live(self) -> bool:
        """Whether the run goes on, as far as its events so far tell."""
        return self._state is not None and self._state not in ENDED

    @property
    def title(self) -> str:
        """The name of the run: its number, which may come a moment after the run, and its name."""
        if self._number is None:
            self._number = number_of(self.run)
        # If the plan's file cannot be read, the trainer may have reported its name all the same.
        name = self.history.plan if self._name == self.run.id and self.history.plan else self._name
        return title(self._number, name)

    def read_name(self) -> None:
        """Read the name that the user gave to the run."""
        self._name = name_of(self.run)
        self.changed.emit()

    @property
    def live(self) -> bool:
        """Whether more may come."""
        return not self.history.ended

    @property
    def following(self) -> bool:
        """Whether the directory is still being read."""
        return self._timer.isActive()

    @property
    def waiting_for(self) -> str:
        """What the trainer was asked for and has not done yet, in words; else empty."""
        if self.stopper is not None and self.live:
            return self.stopper.words
        return _ASKED.get(self._asked, "") if self._asked else ""

    def start(self) -> None:
        """Begin to read, with the event loop's next turn."""
        with suppress(OSError):  # which reading reports
            if self.run.events_file.stat().st_size >= SMALLEST:
                self._ahead = self._look_ahead(RunPreview(self.run.events_file))
        self._timer.start(0)
        self.record.start()

    def close(self) -> None:
        """Stop reading. The trainer is left alone."""
        self._leave()
        self.record.close()

    def _leave(self) -> None:
        self._timer.stop()
        if self.stopper is not None:
            self.stopper.close()

    def pause(self) -> None:
        """Ask the trainer to pause; its memory stays."""
        self._ask("pause")

    def resume(self) -> None:
        """Ask the trainer to go on."""
        self._ask("resume")

    def checkpoint(self) -> None:
        """Ask the trainer for a checkpoint."""
        self._ask("checkpoint")

    def stop(self) -> None:
        """Ask the trainer to stop with a checkpoint, and wait as long as that takes."""
        self._stop(now=False)

    def stop_now(self) -> None:
        """Stop the trainer without a checkpoint, by SIGTERM and SIGKILL if it does not answer."""
        self._stop(now=True)

    def escalate_stop(self) -> None:
        """End a trainer that does not answer: climb one rung of the ladder."""
        if self.stopper is not None:
            self.stopper.escalate()

    def _ask(self, action: Action) -> None:
        if not self.live:
            return
        try:
            send(self.run, action)
        except OSError as error:
            self._cannot(error)
            return
        self._asked = action
        self.waiting_changed.emit()

    def _stop(self, *, now: bool) -> None:
        if not self.live:
            return
        try:
            stopper = Stopper(self.run, now=now, parent=self)
        except OSError as error:
            self._cannot(error)
            return
        if self.stopper is not None:
            self.stopper.close()
        self.stopper = stopper
        stopper.changed.connect(self.waiting_changed)
        self.waiting_changed.emit()

    def _cannot(self, error: OSError) -> None:
        self.status.emit(
            f"The trainer could not be asked: {error.strerror or error}. Look at {self.run.path}."
        )

    def _read(self) -> None:
        try:
            self._read_on()
        except OSError as error:
            self.close()
            self.problem = (
                f"The run cannot be read: {error.strerror or error}. Look at {self.run.path}."
            )
            self.waiting_changed.emit()
            self.status.emit(self.problem)

    def _read_on(self) -> None:
        if self._ahead is not None:
            if next(self._ahead, True):
                self._ahead = None
            return
        self._look_after_trainer()
        before = self._whole.revision
        self._slices.read(self._read_chunk)
        if self._whole.revision != before:
            self.changed.emit()
        if self._tail.waiting:
            return
        if self._timer.interval() != LIVE_MS:
            self._timer.setInterval(LIVE_MS)
        if self._gone:
            self._whole.conclude_lost()
        self._settle()

    def _read_chunk(self, size: int) -> bool:
        self._take(self._tail.read(size))
        self.bookmarks.note(self._whole.clock, self._tail.position)
        return self._tail.waiting

    def _look_ahead(self, preview: RunPreview) -> Iterator[None]:
        """Look at the run's ends and between them, and show it: a turn for each `next`."""
        began, turn = QElapsedTimer(), QElapsedTimer()
        began.start()
        turn.start()
        while (preview.lacks_an_end or not began.hasExpired(AHEAD_MS)) and preview.look():
            if turn.hasExpired(SLICE_MS):
                yield
                turn.start()
        yield
        seen, calls = preview.history(), RunCalls()
        yield
        self.bookmarks.foresee(preview.bookmarks)
        calls.add_all(preview.steps)
        self.calls.foresee(calls)
        yield
        self._show_seen(seen, preview.state)

    def _show_seen(self, seen: History, last_state: State | None) -> None:
        self._seen = seen
        self._whole.foresee(seen)
        seen.share(self._whole)
        if state_of(self.run, last_state or "running") == "lost":
            seen.conclude_lost()
        if last_state is not None:
            self._state = seen.state
            self.state_changed.emit(seen.state)
        self.changed.emit()

    def _take(self, batch: Sequence[AnyEvent]) -> None:
        self._whole.apply_all(batch)
        self.calls.add_all(event for event in batch if isinstance(event, Steps))
        for event in batch:
            if not isinstance(event, FREQUENT):
                self.log.add(event)
                self._look_for_answer(event)
        if self._seen is not None:
            self._seen.revision += 1

    def _look_for_answer(self, event: AnyEvent) -> None:
        if self._asked and self._answered_by(event):
            self._asked = None
            self.waiting_changed.emit()

    def _answered_by(self, event: AnyEvent) -> bool:
        answers = Checkpoint if self._asked == "checkpoint" else StateChanged
        return isinstance(event, (answers, *TERMINAL))

    def _look_after_trainer(self) -> None:
        """Note whether the trainer ended without a final event.

        That is asked before the events are read: all that it wrote before its end is then read
        before the run is concluded to be lost.
        """
        if self._whole.ended or (self._looked.isValid() and not self._looked.hasExpired(LOOK_MS)):
            return
        self._looked.start()
        self._holder = holder(self.run.lock_file) or self._holder
        lost = state_of(self.run, self._whole.state) == "lost"
        self.astray = astray(self.run, self._holder) if lost else None
        self._gone = lost and self.astray is None

    def _settle(self) -> None:
        """Report what has changed, now that everything available has been read."""
        before, self._state, self._seen = self._state, self._whole.state, None
        if self.reading:
            self.reading = False
            self.loaded.emit()
        if before != self._state:
            self.state_changed.emit(self._state)
        if self._whole.ended:
            self._leave()
            self.record.finish()
            self.ended.emit()


STOPPER_MS: Final = 200
POLITE: Final = Patience(asked=math.inf, terminated=math.inf)
NOW: Final = Patience(asked=5.0, terminated=5.0)
OFFER_AFTER: Final = 10.0

_POLITE_WORDS = "stopping, with a checkpoint of what it has trained…"
_NOW_WORDS = "stopping without a checkpoint…"


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
        self.timer.start(STOPPER_MS)

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
            "asked": _NOW_WORDS if self.now else _POLITE_WORDS,
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
