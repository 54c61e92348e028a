"""The message of a page that has nothing to show."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.ui.kit.button import Button
from gpu_studio.ui.kit.labels import Elided, Label, Paragraph
from gpu_studio.ui.kit.theme.tokens import GRID

_WIDTH = 440


class EmptyState(QWidget):
    """A sentence in the middle of the page, a `note` below it, and a button to begin.

    The button fires `pressed`.
    """

    pressed = Signal()

    def __init__(
        self, title: str, text: str, button: str, note: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        middle = QWidget()
        middle.setFixedWidth(_WIDTH)
        words = QVBoxLayout(middle)
        words.setSpacing(GRID)
        labels = [Label(title, "heading"), Paragraph(text, "muted")]
        if note:
            labels.append(Elided(note, "caption", mode=Qt.TextElideMode.ElideMiddle))
        for label in labels:
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            words.addWidget(
                label, 0, Qt.AlignmentFlag.AlignHCenter if label is labels[-1] and note else _WHOLE
            )
        self.button = Button(button)
        self.button.clicked.connect(self.pressed)
        words.addSpacing(GRID)
        words.addWidget(self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(middle)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.addStretch(2)
        column.addLayout(row)
        column.addStretch(3)


_WHOLE = Qt.AlignmentFlag(0)
