"""What the Train page says when there is no run to show."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.labels import Label, Paragraph

_WIDTH = 420
TITLE = "No run yet"
TEXT = (
    "Open Plan with Ctrl+2 and press Ctrl+Return to train it. The run then appears here, live; it goes on when the "
    "window is closed, and you find it again under Runs."
)


class EmptyState(QWidget):
    """A calm sentence in the middle of the page, and how to begin."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        middle = QWidget()
        middle.setFixedWidth(_WIDTH)
        words = QVBoxLayout(middle)
        words.setSpacing(GRID)
        for label in (Label(TITLE, "heading"), Paragraph(TEXT, "muted")):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            words.addWidget(label)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(middle)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.addStretch(2)
        column.addLayout(row)
        column.addStretch(3)
