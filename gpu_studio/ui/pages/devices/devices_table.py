"""The table of the physical devices: its columns at each width, and what stands across several of them."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from gpu_studio.ui.models.devices.device_rows import DeviceRow
from gpu_studio.ui.models.devices.devices_model import (
    DEVICE,
    MEMORY,
    POWER,
    TEMPERATURE,
    TENSORFLOW,
    USED_BY,
    UTILISATION,
    DevicesModel,
)
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.tables.device_cells import FigureCell, MemoryCell, NameCell
from gpu_studio.ui.widgets.tables.table import ROW, Table

_WIDTHS = {DEVICE: 214, MEMORY: 262, UTILISATION: 120, POWER: 122, TEMPERATURE: 86, TENSORFLOW: 104}
_NARROW = {DEVICE: 170, MEMORY: 186, UTILISATION: 116, POWER: 122, TEMPERATURE: 70, TENSORFLOW: 92}
_FEW, _MANY, _LOW_ROW = 6, 10, 29
_SMALL_PAGE, _LOWEST_ROW = 640, 25
_LEAST, _MOST_OF_PAGE = 140, 0.5


class DevicesTable(Table):
    """Follows a `DevicesModel`. `retry` fires when a person wants a lost card to be asked again."""

    retry = Signal()

    def __init__(self, theme: ThemeManager, model: DevicesModel, parent: QWidget | None = None) -> None:
        super().__init__(model, "devices of this machine", parent)
        self._devices = model
        self._spanned: list[tuple[str, bool, tuple[int, int]]] = []
        self.setItemDelegate(FigureCell(theme, self))
        self.setItemDelegateForColumn(DEVICE, NameCell(theme, self))
        self.setItemDelegateForColumn(MEMORY, MemoryCell(theme, self))
        self.set_widths(_WIDTHS, stretch=USED_BY)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def span(self) -> None:
        """Let words that need room stand across cells: why a device does not answer, and what is told once for two."""
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
        """As high as its rows, but never so high that nothing is left for the plots: then it scrolls."""
        self.set_widths(_WIDTHS if wide else _NARROW, stretch=USED_BY)
        rows = self._devices.rowCount()
        low = _LOWEST_ROW if page_height < _SMALL_PAGE or rows > _MANY else _LOW_ROW
        self.set_row_height(ROW if rows <= _FEW else low)
        self.setFixedHeight(min(self.sizeHint().height(), max(_LEAST, int(page_height * _MOST_OF_PAGE))))

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
    """From which column on, and over how many, one reason stands; over one where no two neighbours say the same."""
    if row.gone:
        return MEMORY, TEMPERATURE - MEMORY + 1
    figures = (row.utilisation, row.power, row.temperature)
    for first, last in ((0, 3), (1, 3), (0, 2)):
        if not figures[first].known and len(set(figures[first:last])) == 1:
            return UTILISATION + first, last - first
    return UTILISATION, 1
