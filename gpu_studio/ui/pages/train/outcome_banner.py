"""What stands over the plots of a run that did not end well, or of one that will not stop."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.ui.models.train.outcome import Outcome
from gpu_studio.ui.pages.train.mend_row import MendRow
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Paragraph


class OutcomeBanner(QFrame):
    """What happened, why, what to do; *Resume* where that can be done; the details one click away, with *Copy*.

    `mend_pressed(Mend)` is a change of the run's plan that a person wants to see made.
    """

    resume_pressed = Signal()
    details_pressed = Signal()
    mend_pressed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.message, self.suggestions = Paragraph(role="strong"), Paragraph()
        self.resume = Button("Resume", "primary")
        self.resume.setToolTip("Go on from the newest checkpoint, as a new run")
        self.resume.clicked.connect(self.resume_pressed)
        self.more, self.copy = Button("Details"), Button("Copy")
        self.more.setToolTip("Show the traceback, or the end of the log")
        self.more.clicked.connect(self.details_pressed)
        self.copy.setToolTip("Copy the message and the details")
        self.copy.clicked.connect(self._copy)
        self._details = ""
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
        self.suggestions.setText("\n".join(f"•  {suggestion}" for suggestion in outcome.suggestions))
        self.suggestions.setVisible(bool(outcome.suggestions))
        self.setAccessibleName(" ".join((outcome.message, *outcome.suggestions)))
        self.mends.show_mends(outcome.mends)
        self._details = outcome.details
        self.more.setVisible(bool(outcome.details))
        self.copy.setVisible(bool(outcome.details))
        self.resume.setVisible(outcome.resumable)
        self.setProperty("tone", outcome.tone)
        self.style().unpolish(self)
        self.style().polish(self)

    def _copy(self) -> None:
        parts = (self.message.text(), self.suggestions.text(), self._details)
        QGuiApplication.clipboard().setText("\n\n".join(filter(None, parts)))

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(GRID // 2)
        words.addWidget(self.message)
        words.addWidget(self.suggestions)
        whole, row = QVBoxLayout(self), QHBoxLayout()
        whole.setContentsMargins(2 * GRID, GRID + 2, 2 * GRID, GRID + 2)
        whole.setSpacing(GRID // 2)
        whole.addLayout(row)
        whole.addWidget(self.mends)
        row.setSpacing(GRID)
        row.addLayout(words, 1)
        for button in (self.copy, self.more, self.resume):
            row.addWidget(button)
