"""A remark that stands where it belongs, with what can be done about it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Paragraph
from gpu_studio.ui.widgets.notice import Tone


class Note(QFrame):
    """Takes no room while there is nothing to say. `more` is a second button, hidden until somebody offers it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self._deed: Callable[[], object] | None = None
        self.words = Paragraph()
        self.button = Button("", small=True)
        self.button.clicked.connect(self._act)
        self.more = Button("Details", small=True)
        self.more.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID + 4, GRID // 2, GRID, GRID // 2)
        row.addWidget(self.words, 1)
        row.addWidget(self.more)
        row.addWidget(self.button)
        self.hide()

    @property
    def text(self) -> str:
        """What is said."""
        return self.words.text() if not self.isHidden() else ""

    def say(self, text: str, tone: Tone = "plain", label: str = "", deed: Callable[[], object] | None = None) -> None:
        """Say this, with a button that does the deed; nothing takes no room."""
        self._deed = deed
        self.setVisible(bool(text))
        self.words.setText(text)
        self.setAccessibleName(text)
        self.button.setVisible(bool(label))
        if self.button.text() != label:
            self.button.setText(label)
            self.button.setAccessibleName(label)
        if self.property("tone") != tone:
            self.setProperty("tone", tone)
            self.style().unpolish(self)
            self.style().polish(self)

    def _act(self) -> None:
        if self._deed is not None:
            self._deed()
