"""The banner above the plots of a run that ended badly, or that does not stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.runs.paths import run_command
from gpu_studio.runs.stop import Patience, StopLadder
from gpu_studio.ui.kit import GRID, GUIDE_PLACE, Button, Elided, Label, Paragraph
from gpu_studio.ui.train.live_run import LiveRun, Stopper
from gpu_studio.ui.train.outcome import Outcome


class ChangeRow(QWidget):
    """`pressed(SuggestedChange)` brings the chosen change.

    Without a change to offer the row is hidden.
    """

    pressed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons: list[Button] = []
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, GRID // 2, 0, 0)
        self._row.setSpacing(GRID)
        self._row.addWidget(Label("Change the plan", role="caption"))
        self._row.addStretch(1)
        self.hide()

    def show_changes(self, mends: Sequence[SuggestedChange]) -> None:
        """Offer these."""
        for button in self.buttons:
            self._row.removeWidget(button)
            button.deleteLater()
        self.buttons = [self._button(mend) for mend in mends]
        for place, button in enumerate(self.buttons, start=1):
            self._row.insertWidget(place, button)
        self.setVisible(bool(mends))

    def _button(self, mend: SuggestedChange) -> Button:
        button = Button(mend.text, small=True)
        button.setToolTip(f"Open the run's plan with this change made: {mend.field}")
        button.setAccessibleName(f"{mend.text}: open the run's plan with this change made")
        button.clicked.connect(partial(self.pressed.emit, mend))
        return button


_SAID = {
    "Terminate": (
        "The trainer has not stopped yet: it may be in a long call. Waiting is safe. "
        "Terminate asks it again, by SIGTERM."
    ),
    "Kill": (
        "The trainer does not answer SIGTERM. Kill ends it at once; steps since the last "
        "checkpoint are lost."
    ),
}


class StopBanner(QFrame):
    """Says that the trainer does not answer, and offers the next rung of the stop ladder."""

    escalate_pressed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.setProperty("tone", "warning")
        self.words = Paragraph()
        self.button = Button("")
        self.button.clicked.connect(self.escalate_pressed)
        row = QHBoxLayout(self)
        row.setContentsMargins(2 * GRID, GRID, 2 * GRID, GRID)
        row.addWidget(self.words, 1)
        row.addWidget(self.button)
        self.hide()

    def show_stopper(self, stopper: Stopper | None) -> None:
        """Offer the next rung if the stop is overdue."""
        rung = stopper.next_rung if stopper is not None and stopper.overdue else ""
        self.setVisible(bool(rung))
        if rung:
            self.words.setText(_SAID[rung])
            self.setAccessibleName(_SAID[rung])
            self.button.setText(rung)
            self.button.setAccessibleName(f"{rung} the trainer")


LOOK_MS: Final = 1000
_NEVER: Final = Patience(math.inf, math.inf, math.inf)
GONE: Final = (
    "The folder of this run is gone: it was deleted or moved. What was read before is still shown; "
    "nothing can be asked of the run. One that was deleted here can be taken back for an hour: "
    "{restore}"
)
ASTRAY: Final = (
    "The folder of this run was moved to {folder}. Its trainer, process {pid}, still runs there, "
    "but cannot be seen or asked from here: put the folder back, or end the trainer."
)
ENDING: Final = (
    "The trainer, process {pid}, was asked to end (SIGTERM) and still runs. It may be in a long "
    "call: wait, or kill it."
)


class GoneBanner(QFrame):
    """Checks once a second whether the run's folder exists, and closes when it is back.

    `runs_wanted` asks for the Runs page; `gone_changed` says whether the folder is gone. A trainer
    that goes on in a folder that was moved can be ended here.
    """

    runs_wanted = Signal()
    gone_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.setProperty("tone", "bad")
        self._run: LiveRun | None = None
        self._gone = False
        self.words = Paragraph()
        self.button = Button("Runs page")
        self.button.setToolTip("See which runs there are")
        self.button.clicked.connect(self.runs_wanted)
        self.end = Button("End the trainer")
        self.end.clicked.connect(self._end)
        self._ladder: StopLadder | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(2 * GRID, GRID, 2 * GRID, GRID)
        row.addWidget(self.words, 1)
        row.addWidget(self.end)
        row.addWidget(self.button)
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self.look)
        self.hide()

    def follow(self, run: LiveRun | None) -> None:
        """Watch this run, or none."""
        self._run, self._ladder = run, None
        self.end.setText("End the trainer")
        if run is None:
            self._timer.stop()
        else:
            self._timer.start()
        self.look()

    def look(self) -> None:
        """Check now."""
        text = self._what_is_wrong(self._run) if self._run is not None else ""
        self.end.setVisible(self._run is not None and self._run.astray is not None)
        self.setVisible(bool(text))
        if text and text != self.words.text():
            self.words.setText(text)
            self.setAccessibleName(text)
        # What is wrong with a run that is there is its own problem.
        gone = bool(text) and self._run is not None and text != self._run.problem
        if gone != self._gone:
            self._gone = gone
            self.gone_changed.emit(gone)

    def _what_is_wrong(self, run: LiveRun) -> str:
        try:
            # The folder alone may have been recreated by a trainer for its last checkpoint.
            there = run.run.plan_file.exists() or run.run.events_file.exists()
        except OSError as error:
            return (
                f"The run cannot be looked at: {error.strerror or error}. Look at {run.run.path}."
            )
        if there:
            return run.problem
        if run.astray is None:
            return GONE.format(restore=run_command("runs restore", run.run.path))
        if self._ladder is not None:
            return self._ladder.problem or ENDING.format(pid=run.astray.pid)
        return ASTRAY.format(folder=run.astray.run.path, pid=run.astray.pid)

    def _end(self) -> None:
        """Send SIGTERM and, pressed again, SIGKILL: nobody can write where it reads requests."""
        astray = self._run.astray if self._run is not None else None
        if astray is not None:
            self._ladder = self._ladder or StopLadder(astray.run, patience=_NEVER)
            self._ladder.escalate()
            self.end.setText("Kill the trainer")
            self.look()


class OutcomeBanner(QFrame):
    """What happened, why, what to do; *Resume* where that can be done.

    The details one click away, with *Copy*.

    `change_pressed(SuggestedChange)` is a change of the plan that a person wants. Where Python of
    his own is what failed, `source_pressed(str)` asks for the part of the plan that names it,
    `allow_pressed(Path)` for the file, to allow it. On a low page what to do folds away, and what
    happened is one line, so that the plots can be seen: a button tells the rest.
    """

    resume_pressed = Signal()
    details_pressed = Signal()
    change_pressed = Signal(object)
    source_pressed = Signal(str)
    allow_pressed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.message, self.suggestions = Paragraph(role="strong"), Paragraph()
        self.line = Elided(role="strong")
        self.line.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._low = self._open = False
        self.fold = Button("")
        self.fold.clicked.connect(self._toggle)
        self.resume = Button("Resume", "primary")
        self.resume.setToolTip("Go on exactly from the last step that was saved, as a new run")
        self.resume.clicked.connect(self.resume_pressed)
        self.more, self.copy = Button("Details"), Button("Copy")
        self.more.setToolTip("Show the traceback, or the end of the log")
        self.more.clicked.connect(self.details_pressed)
        self.copy.setToolTip("Copy the message and the details")
        self.copy.clicked.connect(self._copy)
        self._details, self._part = "", ""
        self._not_allowed: Path | None = None
        self.source, self.allow = Button("Open in plan"), Button("Allow…")
        self.source.clicked.connect(lambda: self.source_pressed.emit(self._part))
        self.allow.setToolTip("Read the Python file, and say whether it may run")
        self.allow.clicked.connect(lambda: self.allow_pressed.emit(self._not_allowed))
        self.mends = ChangeRow()
        self.mends.pressed.connect(self.change_pressed)
        self._lay_out()
        self.show_outcome(None)

    def show_outcome(self, outcome: Outcome | None) -> None:
        """Show this outcome; None hides the banner."""
        self.setVisible(outcome is not None)
        if outcome is None:
            return
        self.message.setText(outcome.message)
        self.line.setText(outcome.message)
        self.suggestions.setText(
            "\n".join(f"•  {suggestion}" for suggestion in outcome.suggestions)
        )
        self._open = False
        self.setAccessibleName(" ".join((outcome.message, *outcome.suggestions)))
        self.mends.show_changes(outcome.mends)
        self._details = outcome.details
        self.setProperty(GUIDE_PLACE, outcome.place)
        self.resume.setVisible(outcome.resumable)
        self._part, self._not_allowed = outcome.part, outcome.not_allowed
        self.source.setToolTip(f"Open the plan where it names the Python of its {outcome.part}")
        self.source.setVisible(bool(outcome.part))
        self.allow.setVisible(outcome.not_allowed is not None)
        self.setProperty("tone", outcome.tone)
        self.style().unpolish(self)
        self.style().polish(self)
        self._show_parts()

    def set_low(self, low: bool) -> None:
        """Take little height, or as much as needed."""
        self._low, self._open = low, False
        self._show_parts()

    def _toggle(self) -> None:
        self._open = not self._open
        self._show_parts()

    def _show_parts(self) -> None:
        """Show all of it, or only its line."""
        folds = self._low and bool(self.suggestions.text() or self.mends.buttons)
        whole = self._open or not folds
        self.line.setVisible(not whole)
        self.message.setVisible(whole)
        self.suggestions.setVisible(whole and bool(self.suggestions.text()))
        self.mends.setVisible(whole and bool(self.mends.buttons))
        self.copy.setVisible(whole and bool(self._details))
        self.more.setVisible(bool(self._details))
        self.fold.setVisible(folds)
        self.fold.setText("Show less" if whole else "What to do")
        self.fold.setAccessibleName(self.fold.text())
        self.fold.setToolTip(
            "Give the plots more space" if whole else "Show all that is said of how the run ended"
        )
        above = GRID // 2 if self._low and not self._open else GRID + 2
        self._whole.setContentsMargins(2 * GRID, above, 2 * GRID, above)

    def _copy(self) -> None:
        parts = (self.message.text(), self.suggestions.text(), self._details)
        QGuiApplication.clipboard().setText("\n\n".join(filter(None, parts)))

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(GRID // 2)
        words.addWidget(self.line)
        words.addWidget(self.message)
        words.addWidget(self.suggestions)
        self._whole = whole = QVBoxLayout(self)
        row = QHBoxLayout()
        whole.setSpacing(GRID // 2)
        whole.addLayout(row)
        whole.addWidget(self.mends)
        row.setSpacing(GRID)
        row.addLayout(words, 1)
        for button in (self.fold, self.copy, self.more, self.source, self.allow, self.resume):
            row.addWidget(button)
