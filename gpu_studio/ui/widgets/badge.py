"""The state of a run as a pill: its sign and the word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.icons import coloured_icon
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.palette import mix, readable
from gpu_studio.ui.theme.states import ICONS, state_colour

if TYPE_CHECKING:
    from gpu_studio.runs.events import State

_HEIGHT = 22
_SIGN = 14
_SIDE = 8
_GAP = 5


class Badge(QWidget):
    """A pill in the state's colour, with its sign and the word. Without a state it takes no room."""

    def __init__(self, theme: ThemeManager, state: State | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._state: State | None = None
        caption = font("caption")
        caption.setWeight(caption.Weight.Medium)
        self.setFont(caption)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)
        self.set_state(state)

    @property
    def state(self) -> State | None:
        """The state shown; None shows nothing."""
        return self._state

    def set_state(self, state: State | None) -> None:
        """Show this state; None shows nothing and takes no room."""
        self._state = state
        self.setAccessibleName(f"state: {state}" if state else "no state")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The word and the sign with their room; nothing without a state."""
        if self._state is None:
            return QSize(0, 0)
        word = self.fontMetrics().horizontalAdvance(self._state)
        return QSize(word + _SIGN + _GAP + 2 * _SIDE + 2, max(_HEIGHT, self.fontMetrics().height() + 6))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the pill, the sign and the word."""
        del event
        if self._state is None:
            return
        tokens = self._theme.tokens
        colour = state_colour(self._state, tokens)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        ground = mix(colour, tokens.background, 0.18)
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(QRectF(self.rect()), self.height() / 2, self.height() / 2)
        sign = QRectF(_SIDE, (self.height() - _SIGN) / 2, _SIGN, _SIGN)
        coloured_icon(ICONS[self._state], colour).paint(painter, sign.toAlignedRect())
        painter.setPen(QColor(readable(colour, ground, tokens.text)))
        words = self.rect().adjusted(_SIDE + _SIGN + _GAP, 0, 0, 0)
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self._state)
