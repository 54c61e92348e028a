"""What stands over the plots of a run that did not end well, or of one that will not stop."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from gpu_studio.ui.models.train.outcome import Outcome
from gpu_studio.ui.pages.train.mend_row import MendRow
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Elided, Paragraph


class OutcomeBanner(QFrame):
    """What happened, why, what to do; *Resume* where that can be done; the details one click away, with *Copy*.

    `mend_pressed(Mend)` is a change of the run's plan that a person wants to see made. Where Python of his own is what
    failed, `source_pressed(str)` asks for the part of the plan that names it, `allow_pressed(Path)` for the file, to
    allow it. On a low page what to do folds away, and what happened is one line, so that the plots can be seen: a
    button tells the rest.
    """

    resume_pressed = Signal()
    details_pressed = Signal()
    mend_pressed = Signal(object)
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
        self.resume.setToolTip("Go on from the newest checkpoint, as a new run")
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
        self.mends = MendRow()
        self.mends.pressed.connect(self.mend_pressed)
        self._lay_out()
        self.show_outcome(None)

    def show_outcome(self, outcome: Outcome | None) -> None:
        """Show this, or nothing."""
        self.setVisible(outcome is not None)
        if outcome is None:
            return
        self.message.setText(outcome.message)
        self.line.setText(outcome.message)
        self.suggestions.setText("\n".join(f"•  {suggestion}" for suggestion in outcome.suggestions))
        self._open = False
        self.setAccessibleName(" ".join((outcome.message, *outcome.suggestions)))
        self.mends.show_mends(outcome.mends)
        self._details = outcome.details
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
        """Take little room, or as much as it needs."""
        self._low, self._open = low, False
        self._show_parts()

    def _toggle(self) -> None:
        self._open = not self._open
        self._show_parts()

    def _show_parts(self) -> None:
        """Show all of it, or its line."""
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
        self.fold.setToolTip("Give the plots more room" if whole else "Show all that is said of how the run ended")
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
