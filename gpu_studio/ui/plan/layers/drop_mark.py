"""The effect of a drop, shown while dragging.

A dashed frame in the lane marks a valid drop; a text beside the pointer explains an invalid one.
"""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gpu_studio.ui.kit.theme.fonts import font
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.kit.theme.palette import mix, readable

_RADIUS = 8.0
_MIDDLE = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
_WIDEST = 280
_PAD = 10
_OFFSET = QPoint(14, 18)


class DropMark(QWidget):
    """A dashed frame with the description of a valid drop."""

    def __init__(self, theme: ThemeManager, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.text = ""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_text(self, text: str, where: QRect) -> None:
        """Show the frame there."""
        self.text = text
        self.setGeometry(where)
        self.raise_()
        self.show()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the frame and the words."""
        del event
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(QColor(tokens.accent), 1.5)
        pen.setDashPattern([4, 3])
        painter.setPen(pen)
        ground = mix(tokens.accent, tokens.surface, 0.08)
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), _RADIUS, _RADIUS)
        painter.setFont(font("caption"))
        painter.setPen(QColor(readable(tokens.accent, ground, tokens.text)))
        painter.drawText(self.rect().adjusted(4, 2, -4, -2), _MIDDLE, self.text)


class PointerHint(QWidget):
    """A short text beside the pointer: why the layers cannot be dropped here."""

    def __init__(self, theme: ThemeManager, window: QWidget) -> None:
        super().__init__(window)
        self._theme = theme
        self._window = window
        self.text = ""
        self.setFont(font("caption"))
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def say(self, text: str, pointer: QPoint) -> None:
        """Show it at this place of the window, moved so that all of it is visible."""
        self.text = text
        self.setAccessibleName(text)
        self.resize(self.sizeHint())
        window = self._window.rect().adjusted(4, 4, -4, -4)
        spot = pointer + _OFFSET
        left = max(window.left(), min(spot.x(), window.right() - self.width()))
        top = (
            spot.y()
            if spot.y() + self.height() <= window.bottom()
            else pointer.y() - self.height() - 6
        )
        self.move(left, max(window.top(), top))
        self.raise_()
        self.show()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The size of the text, which is wrapped if it is long."""
        area = QRect(0, 0, _WIDEST, 400)
        words = self.fontMetrics().boundingRect(area, int(_LEFT), self.text)
        return QSize(words.width() + 2 * _PAD + 20, words.height() + 14)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the text, and a sign for an invalid drop."""
        del event
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = mix(tokens.bad, tokens.surface, 0.12)
        painter.setPen(QPen(QColor(tokens.bad), 1))
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(
            QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS
        )
        painter.setPen(QPen(QColor(tokens.bad), 1.6))
        sign = QRectF(_PAD, self.height() / 2 - 5.5, 11, 11)
        painter.drawEllipse(sign)
        painter.drawLine(sign.topLeft() + QPoint(2, 2), sign.bottomRight() - QPoint(2, 2))
        painter.setPen(QColor(readable(tokens.bad, ground, tokens.text)))
        painter.drawText(self.rect().adjusted(_PAD + 19, 0, -_PAD + 2, 0), int(_LEFT), self.text)
