"""A moment's figures below each other, and its devices as a table, to be read and copied."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFontMetrics,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from gpu_studio.ui.kit import LEFT, RIGHT, ThemeManager, font, line_height
from gpu_studio.ui.train.readout import DeviceTable, Readout

_TITLE = 26
_LINE = 23


class FigureList(QWidget):
    """Paints a readout. It keeps the height of its largest content, so that nothing jumps."""

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
        line = line_height("text")
        return QSize(
            160, max(_TITLE, line) + self._rows * max(_LINE, line + 4) if self._rows else 0
        )

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
        height = max(_LINE, painter.fontMetrics().height() + 4)
        for number, (name, figure) in enumerate(self._readout.rows):
            area = QRect(0, _TITLE + number * height, width, height)
            painter.setPen(QColor(self._theme.tokens.muted))
            painter.drawText(area, LEFT, name)
            painter.setPen(QColor(self._theme.tokens.text))
            painter.drawText(area, RIGHT, figure)


Cells = tuple[str, ...]
_ROW = 20
_BEFORE = 10
_LEAST_BETWEEN = 8
"""Pixels: where columns come closer, the devices are called by their numbers."""


class ValueTable(FigureList):
    """Paints a readout with its devices and what is marked.

    Ctrl+C, or the menu, fires `copy_asked`.
    """

    copy_asked = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._most = 0
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName("no figures yet")
        self.setAccessibleDescription("Ctrl+C copies these figures")

    def set_readout(self, readout: Readout | None) -> None:
        """Show these figures; None shows nothing."""
        super().set_readout(readout)
        most = max(self._most, self._lines(readout))
        if most != self._most:
            self._most = most
            self.updateGeometry()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The figures, and under them as many lines as there ever were."""
        above = super().sizeHint()
        return QSize(
            above.width(),
            above.height() + (_BEFORE + self._most * self._row() if self._most else 0),
        )

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the figures, the devices, and what is marked."""
        super().paintEvent(event)
        painter = QPainter(self)
        if self.hasFocus():
            painter.setPen(QColor(self._theme.tokens.accent))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        if self.readout is None:
            return
        painter.setFont(font("caption"))
        top = super().sizeHint().height() + _BEFORE
        if self.readout.devices is not None:
            top = self._paint_devices(painter, self.readout.devices, top, event.rect())
        for words in self.readout.marked:
            top = self._paint_marked(painter, words, top)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Ctrl+C."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_asked.emit()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802 - Qt's name
        """Offer to copy the figures."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Copy these figures").triggered.connect(self.copy_asked)
        menu.popup(event.globalPos())

    def _row(self) -> int:
        return max(_ROW, line_height("caption") + 4)

    def _lines(self, readout: Readout | None) -> int:
        if readout is None:
            return 0
        return len(readout.marked) + (
            2 + len(readout.devices.rows) if readout.devices is not None else 0
        )

    def _paint_devices(
        self, painter: QPainter, table: DeviceTable, top: int, exposed: QRect
    ) -> int:
        """Draw what is `exposed` of the table from `top` on; return where it ends."""
        row, muted, text = self._row(), self._theme.tokens.muted, self._theme.tokens.text
        lines, edges = self._laid_out(painter.fontMetrics(), table)
        for number, cells in enumerate(lines):
            higher = (0, 4, 2)[min(number, 2)]
            area = QRect(0, top + number * row - higher, edges[0], row)
            if area.top() <= exposed.bottom() and area.bottom() >= exposed.top():
                self._paint_cells(painter, cells, edges, area, text if number > 1 else muted)
        return top + (2 + len(table.rows)) * row

    def _laid_out(self, metrics: QFontMetrics, table: DeviceTable) -> tuple[list[Cells], list[int]]:
        """The lines of the table, and the right edge of each column, with equal gaps."""
        heads: list[Cells] = [
            ("", *(name for name, _ in table.heads)),
            ("", *(unit for _, unit in table.heads)),
        ]
        lines = [*heads, *table.rows]
        widths = _widths(metrics, lines)
        if self._between(widths) < _LEAST_BETWEEN:
            lines = heads + [(cells[0].rpartition(":")[2], *cells[1:]) for cells in table.rows]
            widths[0] = _width(metrics, lines, 0)
        between = self._between(widths)
        return lines, [
            round(sum(widths[: place + 1]) + place * between) for place in range(len(widths))
        ]

    def _between(self, widths: Sequence[int]) -> float:
        return (self.contentsRect().width() - sum(widths)) / max(len(widths) - 1, 1)

    def _paint_cells(
        self, painter: QPainter, cells: Cells, edges: list[int], area: QRect, colour: str
    ) -> None:
        painter.setPen(QColor(self._theme.tokens.muted))
        painter.drawText(area, LEFT, cells[0])
        painter.setPen(QColor(colour))
        for text, before, edge in zip(cells[1:], edges, edges[1:], strict=False):
            area.setLeft(before)
            area.setWidth(edge - before)
            painter.drawText(area, RIGHT, text)

    def _paint_marked(self, painter: QPainter, words: str, top: int) -> int:
        area = QRect(QPoint(0, top), QSize(self.contentsRect().width(), self._row()))
        painter.setPen(QColor(self._theme.tokens.muted))
        shown = painter.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(area, LEFT, shown)
        return top + area.height()


def _widths(metrics: QFontMetrics, lines: Sequence[Cells]) -> list[int]:
    return [_width(metrics, lines, place) for place in range(len(lines[0]))]


def _width(metrics: QFontMetrics, lines: Sequence[Cells], place: int) -> int:
    """How wide a column is. What stands in it several times is measured once."""
    return max(metrics.horizontalAdvance(text) for text in {line[place] for line in lines})
