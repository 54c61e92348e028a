"""What is offered when a polite stop has waited for long."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from gpu_studio.ui.models.train.stopper import Stopper
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Paragraph

_SAID = {
    "Terminate": "The trainer has not stopped yet: it may be in a long call. Waiting is safe. Terminate asks it again, "
    "by SIGTERM.",
    "Kill": "The trainer does not answer SIGTERM. Kill ends it at once; steps since the last checkpoint are lost.",
}


class StopBanner(QFrame):
    """Says that the trainer does not answer, with the next rung of the stop ladder as a button."""

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
