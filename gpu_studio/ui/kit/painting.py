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
        self._text, self._shorter = "", tuple[str, ...]()
        self.setFont(font(role))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def text(self) -> str:
        """All that there is to show."""
        return self._text

    @property
    def shown(self) -> str:
        """What is shown of it in the present width."""
        return self._shown()

    def set_text(self, text: str, *shorter: str) -> None:
        """Show this text or, if it does not fit, the first of the `shorter` ones that does."""
        if (text, shorter) != (self._text, self._shorter):
            self._text, self._shorter = text, shorter
            self.setAccessibleName(text)
            self._tell()
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One line, as wide as there is space."""
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
        metrics, right = self.fontMetrics(), Qt.TextElideMode.ElideRight
        texts = (self._text, *filter(None, self._shorter))
        # Not by their widths, which are whole numbers: a text may lack a fraction of a pixel.
        shown = [metrics.elidedText(each, right, self.width()) for each in texts]
        whole = next((cut for cut, text in zip(shown, texts, strict=True) if cut == text), None)
        if whole is not None:
            return whole
        return shown[-1] if len(shown[-1]) > self._fewest else ""
