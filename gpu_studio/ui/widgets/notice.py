"""A message that is in nobody's way: what happened, why, what to do, and at most one thing to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Paragraph
from gpu_studio.ui.widgets.page import SIDE

Tone = Literal["plain", "warning", "bad"]


class Notice(QWidget):
    """One message at a time; a new one takes the place of the old. It goes when closed, or by Escape."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._deed: Callable[[], object] | None = None
        self._frame = QFrame()
        self._frame.setObjectName("notice")
        self._text = Paragraph()
        self._button = Button("", small=True)
        self._button.clicked.connect(self._act)
        close = Button("Close", "quiet", small=True)
        close.setToolTip("Close this message (Esc)")
        close.clicked.connect(self.hide)
        around = QHBoxLayout(self)
        around.setContentsMargins(SIDE, GRID + 4, SIDE, 0)
        around.addWidget(self._frame)
        row = QHBoxLayout(self._frame)
        row.setContentsMargins(GRID + 4, GRID - 2, GRID, GRID - 2)
        row.addWidget(self._text, 1)
        row.addWidget(self._button)
        row.addWidget(close)
        self.hide()

    @property
    def text(self) -> str:
        """The message, also after it was closed."""
        return self._text.text()

    def say(self, text: str, tone: Tone = "plain", label: str = "", deed: Callable[[], object] | None = None) -> None:
        """Show a message; with a `label` also a button that does the `deed` and closes the message."""
        self._deed = deed
        self._text.setText(text)
        self.setAccessibleName(text)
        self._button.setVisible(bool(label and deed))
        self._button.setText(label)
        self._button.setAccessibleName(label)
        self._frame.setProperty("tone", tone)
        self.style().unpolish(self._frame)
        self.style().polish(self._frame)
        self.show()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Escape closes the message."""
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
        else:
            super().keyPressEvent(event)

    def _act(self) -> None:
        deed = self._deed
        self.hide()
        if deed is not None:
            deed()
