"""A title over rows of a name and a figure."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.models.train.readout import Readout
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.painting import LEFT, RIGHT

_TITLE = 26
_ROW = 23


class FigureList(QWidget):
    """Paints a readout. It keeps the room of the most rows that it ever showed, so that nothing jumps."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._readout: Readout | None = None
        self._rows = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def readout(self) -> Readout | None:
        """What is shown."""
        return self._readout

    def set_readout(self, readout: Readout | None) -> None:
        """Show these figures; None shows nothing."""
        if readout == self._readout:
            return
        self._readout = readout
        self.setAccessibleName(readout.text if readout else "no figures yet")
        if readout is not None and len(readout.rows) > self._rows:
            self._rows = len(readout.rows)
            self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The title and the rows."""
        line = QFontMetrics(font("text")).height()
        return QSize(160, max(_TITLE, line) + self._rows * max(_ROW, line + 4) if self._rows else 0)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the title and the rows."""
        del event
        if self._readout is None:
            return
        painter = QPainter(self)
        width = self.contentsRect().width()
        painter.setFont(font("section"))
        painter.setPen(QColor(self._theme.tokens.muted))
        painter.drawText(QRect(0, 0, width, _TITLE), LEFT, self._readout.title.upper())
        painter.setFont(font("text"))
        height = max(_ROW, painter.fontMetrics().height() + 4)
        for number, (name, figure) in enumerate(self._readout.rows):
            room = QRect(0, _TITLE + number * height, width, height)
            painter.setPen(QColor(self._theme.tokens.muted))
            painter.drawText(room, LEFT, name)
            painter.setPen(QColor(self._theme.tokens.text))
            painter.drawText(room, RIGHT, figure)
