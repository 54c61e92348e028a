"""The table of the physical devices: its columns at each width, and its spanning cells."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from gpu_studio.hardware.device_rows import DeviceRow
from gpu_studio.ui.devices.devices_model import (
    DEVICE,
    MEMORY,
    POWER,
    ROW_ROLE,
    TEMPERATURE,
    TENSORFLOW,
    USED_BY,
    UTILISATION,
    DevicesModel,
    figure_of,
)
from gpu_studio.ui.kit.button import Button
from gpu_studio.ui.kit.painting import LEFT, RIGHT, draw_bar
from gpu_studio.ui.kit.tables.cells import Index, PaintedCell
from gpu_studio.ui.kit.tables.table import ROW, Table
from gpu_studio.ui.kit.theme.fonts import font
from gpu_studio.ui.kit.theme.manager import ThemeManager

_LONGEST_BAR, _SHORTEST_BAR = 130, 36
_WORDS = 114
_BESIDE = 12
_INSET = 22


class _Cell(PaintedCell):
    """A cell of a device's row."""

    def draw(self, painter: QPainter, area: QRectF, index: Index, text: str) -> None:
        """Draw this column's part of the row."""
        del text
        self._draw(painter, area, index.data(ROW_ROLE), index.column())

    def _colour(self, row: DeviceRow) -> str:
        tokens = self._theme.tokens
        return tokens.host if row.place is None else tokens.device_colour(row.place)

    def _write(
        self, painter: QPainter, area: QRectF, text: str, colour: str, side: Qt.AlignmentFlag = LEFT
    ) -> None:
        painter.setPen(QColor(colour))
        shown = painter.fontMetrics().elidedText(
            text, Qt.TextElideMode.ElideRight, int(area.width())
        )
        painter.drawText(area, side, shown)

    def _draw(self, painter: QPainter, area: QRectF, row: DeviceRow, column: int) -> None:
        raise NotImplementedError


class DeviceNameCell(_Cell):
    """The dot in the device's colour, its name, and what it is."""

    def _draw(self, painter: QPainter, area: QRectF, row: DeviceRow, column: int) -> None:
        del column
        tokens = self._theme.tokens
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.bad if row.lost else self._colour(row)))
        if not row.instance:
            painter.drawEllipse(QPointF(area.left() + 4, area.center().y()), 4, 4)
        painter.setFont(font("strong"))
        name = area.adjusted(_INSET, 0, 0, 0)
        self._write(painter, name, row.name, tokens.muted if row.instance else tokens.text)
        detail = name.adjusted(painter.fontMetrics().horizontalAdvance(row.name) + 8, 0, 0, 0)
        painter.setFont(font("text"))
        self._write(painter, detail, row.detail, tokens.muted)


class MemoryCell(_Cell):
    """The bar, if the memory in use is known, and the figures.

    Or why the device does not answer.
    """

    def _draw(self, painter: QPainter, area: QRectF, row: DeviceRow, column: int) -> None:
        del column
        tokens = self._theme.tokens
        if row.gone:
            self._write(painter, area, row.gone, tokens.bad if row.lost else tokens.muted)
            return
        if row.share is not None:
            bar = min(_LONGEST_BAR, max(_SHORTEST_BAR, area.width() - _WORDS - _BESIDE))
            place = QRectF(area.left(), area.top(), bar, area.height())
            draw_bar(painter, place, row.share, self._colour(row), tokens, row.reserved_share)
            area = area.adjusted(bar + _BESIDE, 0, 0, 0)
        known = row.used_mib is not None or (row.place is None and row.total_mib)
        self._write(painter, area, row.memory, tokens.text if known else tokens.muted)


class FigureCell(_Cell):
    """A figure, or in muted words why it is unknown."""

    def _draw(self, painter: QPainter, area: QRectF, row: DeviceRow, column: int) -> None:
        tokens = self._theme.tokens
        if column == TENSORFLOW:
            named = ":" in row.tensorflow
            painter.setFont(font("mono" if named else "text"))
            self._write(painter, area, row.tensorflow, tokens.text if named else tokens.muted)
        elif not row.gone:
            shown = figure_of(row, column)
            colour = tokens.text if shown.known else tokens.muted
            self._write(painter, area, shown.text, colour, LEFT if column == USED_BY else RIGHT)


_WIDTHS = {DEVICE: 214, MEMORY: 262, UTILISATION: 120, POWER: 122, TEMPERATURE: 86, TENSORFLOW: 104}
_NARROW = {DEVICE: 170, MEMORY: 186, UTILISATION: 116, POWER: 122, TEMPERATURE: 70, TENSORFLOW: 92}
_FEW, _MANY, _LOW_ROW = 6, 10, 29
_SMALL_PAGE, _LOWEST_ROW = 640, 25
_LEAST, _MOST_OF_PAGE = 140, 0.5


class DevicesTable(Table):
    """Follows a `DevicesModel`. `retry` fires when the user wants to query a lost card again."""

    retry = Signal()

    def __init__(
        self, theme: ThemeManager, model: DevicesModel, parent: QWidget | None = None
    ) -> None:
        super().__init__(model, "devices of this machine", parent)
        self._devices = model
        self._spanned: list[tuple[str, bool, tuple[int, int]]] = []
        self.setItemDelegate(FigureCell(theme, self))
        self.setItemDelegateForColumn(DEVICE, DeviceNameCell(theme, self))
        self.setItemDelegateForColumn(MEMORY, MemoryCell(theme, self))
        self.set_widths(_WIDTHS, stretch=USED_BY)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def span(self) -> None:
        """Let long texts span cells.

        These are why a device does not answer, and what is reported once for two.
        """
        wanted = [(row.key, row.lost, _span_of(row)) for row in self._devices.rows]
        if wanted == self._spanned:
            return
        self._spanned = wanted
        self.clearSpans()
        for number, row in enumerate(self._devices.rows):
            index = self._devices.index(number, USED_BY)
            self.setIndexWidget(index, self._button(row) if row.lost else None)  # type: ignore[arg-type]
            first, columns = _span_of(row)
            if columns > 1:
                self.setSpan(number, first, 1, columns)

    def fit(self, *, wide: bool, page_height: int) -> None:
        """As high as its rows, unless that leaves no space for the plots: then it scrolls."""
        self.set_widths(_WIDTHS if wide else _NARROW, stretch=USED_BY)
        rows = self._devices.rowCount()
        low = _LOWEST_ROW if page_height < _SMALL_PAGE or rows > _MANY else _LOW_ROW
        self.set_row_height(ROW if rows <= _FEW else low)
        self.setFixedHeight(
            min(self.sizeHint().height(), max(_LEAST, int(page_height * _MOST_OF_PAGE)))
        )

    def _button(self, row: DeviceRow) -> QWidget:
        holder, button = QWidget(), Button("Retry", small=True)
        button.setAccessibleName(f"Retry {row.name}")
        button.setToolTip("Ask the driver for this card again now")
        button.clicked.connect(self.retry)
        line = QHBoxLayout(holder)
        line.setContentsMargins(3, 0, 8, 0)
        line.addWidget(button)
        line.addStretch(1)
        return holder


def _span_of(row: DeviceRow) -> tuple[int, int]:
    """Return the first column of a reason, and how many columns it spans.

    It spans one if no two neighbours have the same reason.
    """
    if row.gone:
        return MEMORY, TEMPERATURE - MEMORY + 1
    figures = (row.utilisation, row.power, row.temperature)
    for first, last in ((0, 3), (1, 3), (0, 2)):
        if not figures[first].known and len(set(figures[first:last])) == 1:
            return UTILISATION + first, last - first
    return UTILISATION, 1
