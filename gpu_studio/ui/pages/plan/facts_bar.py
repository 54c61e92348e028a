"""The line that says what is being asked of TensorFlow, or why there is no answer, with what can be done about it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from gpu_studio.ui.models.plan_facts import FactsReader
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.units import sentence
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Paragraph


class FactsBar(QFrame):
    """Takes no room while there is nothing to say. Its button cancels the question, or asks it again."""

    def __init__(self, what: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self._what = what
        self._reader: FactsReader | None = None
        self.words = Paragraph()
        self.button = Button("", small=True)
        self.button.clicked.connect(self._act)
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID + 4, GRID // 2, GRID, GRID // 2)
        row.addWidget(self.words, 1)
        row.addWidget(self.button)
        self.hide()

    def show_reader(
        self, reader: FactsReader, error: str = "", advice: Sequence[str] = (), *, known: bool = False
    ) -> None:
        """Say how far the reader is, unless what was asked is `known`.

        `error` and `advice` are what it was told instead of what was asked.
        """
        self._reader = reader
        if known:
            self.hide()
        elif reader.asking:
            waiting = reader.waiting_for or f"reading {self._what}"
            self._say(sentence(waiting).rstrip(".") + "…", "plain", "Cancel")
        elif reader.error:
            self._say(sentence(reader.error), "bad", "Try again")
        elif error:
            self._say(" ".join(sentence(each) for each in (error, *advice)), "bad", "Try again")
        else:
            self._say(f"Nothing is known of {self._what} yet.", "plain", "Ask TensorFlow")

    def _say(self, text: str, tone: str, label: str) -> None:
        if (text, label) != (self.words.text(), self.button.text()) or self.isHidden():
            self.words.setText(text)
            self.setAccessibleName(text)
            self.button.setText(label)
            self.button.setAccessibleName(f"{label}: {self._what}")
            self.button.setVisible(bool(label))
            self.setProperty("tone", tone)
            self.style().unpolish(self)
            self.style().polish(self)
        self.show()

    def _act(self) -> None:
        if self._reader is None:
            return
        if self._reader.asking:
            self._reader.cancel()
        else:
            self._reader.retry()
