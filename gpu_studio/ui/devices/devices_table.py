"""The table of the physical devices: its model, columns at each width, and spanning cells."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from gpu_studio.common.figures import size_from_mib
from gpu_studio.hardware.device_rows import DeviceRow, Figure
from gpu_studio.ui.kit import (
    LEFT,
    RIGHT,
    ROW,
    Button,
    Index,
    PaintedCell,
    Table,
    ThemeManager,
    draw_bar,
    font,
)

HEADERS = ("Device", "Memory", "Utilisation", "Power", "Temp.", "In a plan", "Used by")
DEVICE, MEMORY, UTILISATION, POWER, TEMPERATURE, TENSORFLOW, USED_BY = range(7)
NAMED_IN_PLANS = (
    "What devices.visible and devices.carve of a plan call it. TensorFlow counts the cards that a "
    "plan leaves visible anew, from GPU:0 on"
)
ROW_ROLE = Qt.ItemDataRole.UserRole + 1
_ROOT = QModelIndex()
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class DevicesModel(QAbstractTableModel):
    """Shows the rows last given.

    If only figures changed, only their cells are reported as changed.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[DeviceRow, ...] = ()

    @property
    def rows(self) -> tuple[DeviceRow, ...]:
        """What is shown."""
        return self._rows

    def set_rows(self, rows: tuple[DeviceRow, ...]) -> None:
        """Show these devices."""
        if [row.key for row in rows] == [row.key for row in self._rows]:
            self._update(rows)
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def _update(self, rows: tuple[DeviceRow, ...]) -> None:
        before, self._rows = self._rows, rows
        for number, (old, new) in enumerate(zip(before, rows, strict=True)):
            if old != new:
                first = MEMORY if (old.name, old.detail) == (new.name, new.detail) else DEVICE
                self.dataChanged.emit(self.index(number, first), self.index(number, USED_BY))

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are devices."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """As many as there are figures."""
        return 0 if parent.isValid() else len(HEADERS)

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """The names of the columns."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole and section in (
            UTILISATION,
            POWER,
            TEMPERATURE,
        ):
            return _RIGHT
        if role == Qt.ItemDataRole.ToolTipRole and section == TENSORFLOW:
            return NAMED_IN_PLANS
        return HEADERS[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The text of a cell, or the whole row for the delegates that draw it."""
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == ROW_ROLE:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return text_of(row, index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            return _tip(row, index.column())
        return None


def figure_of(row: DeviceRow, column: int) -> Figure:
    """Return the text of a figure's column."""
    shown = {
        UTILISATION: row.utilisation,
        POWER: row.power,
        TEMPERATURE: row.temperature,
        USED_BY: row.used_by,
    }
    return shown[column]


def text_of(row: DeviceRow, column: int) -> str:
    """Return the text of a cell."""
    if column == DEVICE:
        return f"{row.name} {row.detail}"
    if column == MEMORY:
        return row.gone or row.memory
    if column == TENSORFLOW:
        return row.tensorflow
    return "" if row.gone else figure_of(row, column).text


def as_text(rows: tuple[DeviceRow, ...]) -> str:
    """Return the table as text with aligned columns, to be pasted into a message."""
    lines = [
        HEADERS,
        *(tuple(text_of(row, column) for column in range(len(HEADERS))) for row in rows),
    ]
    # A reason in place of several figures must not widen the memory column.
    widths = [
        max(
            (
                len(line[column])
                for line, row in zip(lines, (None, *rows), strict=True)
                if not (row and row.gone)
            )
        )
        for column in range(len(HEADERS))
    ]
    shown = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "\n".join(line.rstrip() for line in shown)


def _tip(row: DeviceRow, column: int) -> str:
    if column == MEMORY:
        return _memory_tip(row)
    words = text_of(row, column)
    return f"{words} · {row.more}" if column == USED_BY and row.more not in ("", words) else words


def _memory_tip(row: DeviceRow) -> str:
    if row.gone or row.used_mib is None or row.total_mib is None:
        return row.gone or row.memory
    kept = f", {size_from_mib(row.reserved_mib)} kept by the driver" if row.reserved_mib else ""
    return f"{size_from_mib(row.used_mib)} in use{kept}, of {size_from_mib(row.total_mib)}"


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
    """The bar, if the memory in use is known, and the figures, or why the device is silent."""

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


_WIDTHS = {DEVICE: 214, MEMORY: 262, UTILISATION: 128, POWER: 122, TEMPERATURE: 86, TENSORFLOW: 104}
_NARROW = {DEVICE: 192, MEMORY: 186, UTILISATION: 94, POWER: 122, TEMPERATURE: 70, TENSORFLOW: 92}
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
            button = self._button(row) if row.lost else None
            self.setIndexWidget(index, button)  # type: ignore[arg-type]
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
