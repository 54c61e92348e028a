"""A short warning in a pill, in a card's header."""

from __future__ import annotations

import math

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.kit.theme.fonts import font
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.kit.theme.palette import mix, readable

_HEIGHT = 20
_SIDE = 10
_LEAST = 100
_GROUND = 0.2


class Tag(QWidget):
    """Words in the warning colour.

    Without words it is hidden; if they do not fit, they are elided.
    """

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._text = ""
        caption = font("caption")
        caption.setWeight(caption.Weight.Medium)
        self.setFont(caption)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)
        self.hide()

    @property
    def text(self) -> str:
        """What is said."""
        return self._text

    def set_text(self, text: str) -> None:
        """Say this; nothing hides it."""
        if text != self._text:
            self._text = text
            self.setAccessibleName(text)
            self.setToolTip(text)
            self.setVisible(bool(text))
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """All the words, and the room beside them."""
        # Rounded up: a text that lacks a fraction of a pixel is elided.
        words = math.ceil(QFontMetricsF(self.font()).horizontalAdvance(self._text)) + 1
        return QSize(words + 2 * _SIDE, max(_HEIGHT, self.fontMetrics().height() + 4))

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The first words."""
        return QSize(min(_LEAST, self.sizeHint().width()), self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the pill and the words."""
        del event
        tokens, painter = self._theme.tokens, QPainter(self)
        ground = mix(tokens.warning, tokens.surface, _GROUND)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(QRectF(self.rect()), self.height() / 2, self.height() / 2)
        painter.setPen(QColor(readable(tokens.warning, ground, tokens.text)))
        words = self.rect().adjusted(_SIDE, 0, -_SIDE, 0)
        shown = self.fontMetrics().elidedText(
            self._text, Qt.TextElideMode.ElideRight, words.width()
        )
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
