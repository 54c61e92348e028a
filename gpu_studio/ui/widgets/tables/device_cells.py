"""How a device is drawn in a table: its dot and name, its memory as a bar with the figures beside it, its figures."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from gpu_studio.ui.models.devices.device_rows import DeviceRow
from gpu_studio.ui.models.devices.devices_model import ROW_ROLE, TENSORFLOW, USED_BY, figure_of
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.widgets.bar import draw_bar
from gpu_studio.ui.widgets.painting import LEFT, RIGHT
from gpu_studio.ui.widgets.tables.painted_cell import Index, PaintedCell

_LONGEST_BAR, _SHORTEST_BAR = 130, 36
_WORDS = 114
_BESIDE = 12
_INSET = 22


class _Cell(PaintedCell):
    """A cell of a device's row."""

    def draw(self, painter: QPainter, room: QRectF, index: Index, text: str) -> None:
        """Draw the part of the row that stands in this column."""
        del text
        self._draw(painter, room, index.data(ROW_ROLE), index.column())

    def _colour(self, row: DeviceRow) -> str:
        tokens = self._theme.tokens
        return tokens.host if row.place is None else tokens.device_colour(row.place)

    def _write(self, painter: QPainter, room: QRectF, text: str, colour: str, side: Qt.AlignmentFlag = LEFT) -> None:
        painter.setPen(QColor(colour))
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, side, shown)

    def _draw(self, painter: QPainter, room: QRectF, row: DeviceRow, column: int) -> None:
        raise NotImplementedError


class NameCell(_Cell):
    """The dot in the device's colour, its name, and what it is."""

    def _draw(self, painter: QPainter, room: QRectF, row: DeviceRow, column: int) -> None:
        del column
        tokens = self._theme.tokens
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.bad if row.lost else self._colour(row)))
        if not row.instance:
            painter.drawEllipse(QPointF(room.left() + 4, room.center().y()), 4, 4)
        painter.setFont(font("strong"))
        name = room.adjusted(_INSET, 0, 0, 0)
        self._write(painter, name, row.name, tokens.muted if row.instance else tokens.text)
        detail = name.adjusted(painter.fontMetrics().horizontalAdvance(row.name) + 8, 0, 0, 0)
        painter.setFont(font("text"))
        self._write(painter, detail, row.detail, tokens.muted)


class MemoryCell(_Cell):
    """The bar, where it is known how much is in use, and the figures; or why the device does not answer."""

    def _draw(self, painter: QPainter, room: QRectF, row: DeviceRow, column: int) -> None:
        del column
        tokens = self._theme.tokens
        if row.gone:
            self._write(painter, room, row.gone, tokens.bad if row.lost else tokens.muted)
            return
        if row.share is not None:
            bar = min(_LONGEST_BAR, max(_SHORTEST_BAR, room.width() - _WORDS - _BESIDE))
            place = QRectF(room.left(), room.top(), bar, room.height())
            draw_bar(painter, place, row.share, self._colour(row), tokens, row.reserved_share)
            room = room.adjusted(bar + _BESIDE, 0, 0, 0)
        known = row.used_mib is not None or (row.place is None and row.total_mib)
        self._write(painter, room, row.memory, tokens.text if known else tokens.muted)


class FigureCell(_Cell):
    """A figure, or in muted words why it is not known."""

    def _draw(self, painter: QPainter, room: QRectF, row: DeviceRow, column: int) -> None:
        tokens = self._theme.tokens
        if column == TENSORFLOW:
            named = ":" in row.tensorflow
            painter.setFont(font("mono" if named else "text"))
            self._write(painter, room, row.tensorflow, tokens.text if named else tokens.muted)
        elif not row.gone:
            shown = figure_of(row, column)
            colour = tokens.text if shown.known else tokens.muted
            self._write(painter, room, shown.text, colour, LEFT if column == USED_BY else RIGHT)
