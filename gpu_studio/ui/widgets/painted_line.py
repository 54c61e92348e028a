"""A line of text that changes often: painted, so that a new figure asks for no new layout."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.theme.fonts import FontRole, font
from gpu_studio.ui.theme.manager import ThemeManager

_WIDTH = 60


class PaintedLine(QWidget):
    """A line in the muted colour. Where room is short its end gives way to an ellipsis; the tooltip holds it all.

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
        """Show this text; where it has no room, what is `short`."""
        if (text, short) != (self._text, self._short):
            self._text, self._short = text, short
            self.setAccessibleName(text)
            self._tell()
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One line, as wide as there is room."""
        return QSize(_WIDTH, self.fontMetrics().height() + 4)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Tell in the tooltip what has no room now."""
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
