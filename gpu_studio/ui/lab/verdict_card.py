"""What was measured says, in words: a sentence in bold, and what more there is to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.kit import GRID, CardFrame, Paragraph, Scrolled

Tone = Literal["", "good", "warning", "bad"]
_LONGEST_HEADLINE: Final = 120
_MOST_HEIGHT: Final = 80
_MOST_SENTENCES: Final = 4


class VerdictCard(CardFrame):
    """A card whose frame has the colour of its `tone`; long words scroll."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.setAccessibleName("Verdict")
        self.headline, self.words = Paragraph("", "strong"), Paragraph("", "muted")
        self._scrolled = Scrolled()
        self._scrolled.column.setContentsMargins(0, 0, GRID, 0)
        self._scrolled.column.addWidget(self.words)
        self.body.setSpacing(GRID // 2)
        self.body.addWidget(self.headline)
        self.body.addWidget(self._scrolled)

    def say(self, headline: str, words: str, tone: Tone = "") -> None:
        """Show these words."""
        self.headline.setText(headline)
        self.words.setText(words)
        self._scrolled.setVisible(bool(words))
        self._fit()
        self.setAccessibleDescription(" ".join(filter(None, (headline, words))))
        if self.property("tone") != tone:
            self.setProperty("tone", tone)
            self.style().unpolish(self)
            self.style().polish(self)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Let the words have the lines that they need, up to a few."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        margins = self.body.contentsMargins()
        width = self.width() - margins.left() - margins.right() - GRID
        self._scrolled.setFixedHeight(max(0, min(self.words.heightForWidth(width), _MOST_HEIGHT)))


def headline_of(sentences: Sequence[str], otherwise: str) -> tuple[str, str]:
    """The first of few sentences if it is short, and the others; else `otherwise`, and all."""
    whole = " ".join(sentences)
    if len(sentences) > _MOST_SENTENCES:
        return otherwise, whole
    first, stop, rest = whole.partition(". ")
    if not stop:
        first, rest = whole.removesuffix("."), ""
    if whole and len(first) <= _LONGEST_HEADLINE:
        return f"{first}.", rest
    return otherwise, whole
