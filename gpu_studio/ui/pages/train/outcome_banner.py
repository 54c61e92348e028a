"""What stands over the plots of a run that did not end well, or of one that will not stop."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.ui.models.outcome import Outcome
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Paragraph


class OutcomeBanner(QFrame):
    """What happened, why, what to do; *Resume* where that can be done; the details one click away, with *Copy*."""

    resume_pressed = Signal()
    details_pressed = Signal()

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
        row = QHBoxLayout(self)
        row.setContentsMargins(2 * GRID, GRID + 2, 2 * GRID, GRID + 2)
        row.setSpacing(GRID)
        row.addLayout(words, 1)
        for button in (self.copy, self.more, self.resume):
            row.addWidget(button)
