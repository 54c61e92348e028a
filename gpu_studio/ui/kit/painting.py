"""Common painting of widgets: lines of text, the focus frame, and slim bars."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.kit.theme import FontRole, ThemeManager, Tokens, font, mix

LEFT: Final = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
RIGHT: Final = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight


def draw_focus(painter: QPainter, widget: QWidget, tokens: Tokens, radius: float) -> None:
    """Draw a frame around a widget that has the focus, with corners of this radius in pixels."""
    if widget.hasFocus():
        painter.setPen(QColor(tokens.accent))
        painter.drawRoundedRect(
            QRectF(widget.rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius
        )


HEIGHT = 8.0
_FAINT = 0.45


def draw_bar(
    painter: QPainter,
    area: QRectF,
    share: float,
    colour: str,
    tokens: Tokens,
    reserved: float = 0.0,
) -> None:
    """Draw a trough with `share` (0…1) of it filled, centred in `area`.

    A faint part, `reserved`, follows.
    """
    trough = QRectF(area.left(), area.center().y() - HEIGHT / 2, area.width(), HEIGHT)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(tokens.line), 1))
    painter.setBrush(QColor(tokens.raised))
    painter.drawRoundedRect(trough, HEIGHT / 2, HEIGHT / 2)
    if reserved > 0:
        _fill(painter, trough, min(1.0, share + reserved), mix(tokens.muted, tokens.raised, _FAINT))
    if share > 0:
        _fill(painter, trough, share, colour)


def _fill(painter: QPainter, trough: QRectF, share: float, colour: str) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    # Clipped, so that a sliver keeps the trough's round end.
    painter.save()
    painter.setClipRect(
        QRectF(trough.left(), trough.top(), max(2.0, trough.width() * share), HEIGHT)
    )
    painter.drawRoundedRect(trough, HEIGHT / 2, HEIGHT / 2)
    painter.restore()


_WIDTH = 60


class PaintedLine(QWidget):
    """A muted line, elided if it does not fit; the tooltip holds all of it.

    What would be less than so many letters as `fewest` is left out.
    """

    def __init__(
        self,
        theme: ThemeManager,
        role: FontRole = "text",
        parent: QWidget | None = None,
        *,
        side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
        fewest: int = 0,
    ) -> None:
        super().__init__(parent)
        self._side, self._fewest = side, fewest
        self._theme = theme
        self._text = self._short = ""
        self.setFont(font(role))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def text(self) -> str:
        """What is shown."""
        return self._text

    def set_text(self, text: str, short: str = "") -> None:
        """Show this text; `short` if it does not fit."""
        if (text, short) != (self._text, self._short):
            self._text, self._short = text, short
            self.setAccessibleName(text)
            self._tell()
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One line, as wide as there is room."""
        return QSize(_WIDTH, self.fontMetrics().height() + 4)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Put text that does not fit into the tooltip."""
        super().resizeEvent(event)
        self._tell()

    def _tell(self) -> None:
        self.setToolTip(self._text if self._shown() != self._text else "")

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw what fits."""
        del event
        painter = QPainter(self)
        painter.setPen(QColor(self._theme.tokens.muted))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter | self._side, self._shown())

    def _shown(self) -> str:
        metrics = self.fontMetrics()
        fits = not self._short or metrics.horizontalAdvance(self._text) <= self.width()
        wanted = self._text if fits else self._short
        shown = metrics.elidedText(wanted, Qt.TextElideMode.ElideRight, self.width())
        return shown if shown == wanted or len(shown) > self._fewest else ""
