"""A remark beside its subject, with a button for its remedy."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from gpu_studio.ui.kit.button import Button
from gpu_studio.ui.kit.labels import Paragraph
from gpu_studio.ui.kit.notice import Tone
from gpu_studio.ui.kit.theme.tokens import GRID


class Note(QFrame):
    """Hidden while there is nothing to say.

    `more` is a second button, hidden until it is offered.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self._action: Callable[[], object] | None = None
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

    def say(
        self,
        text: str,
        tone: Tone = "plain",
        label: str = "",
        action: Callable[[], object] | None = None,
    ) -> None:
        """Show this text, with a button for the action; hide without text."""
        self._action = action
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
        if self._action is not None:
            self._action()
