"""The slices of a card, each with a field for its exact size."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QWidget

from gpu_studio.ui.models.plan.track import Track
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.labels import Label
from gpu_studio.ui.widgets.memory_field import MemoryField
from gpu_studio.ui.widgets.status_line import Dot
from gpu_studio.ui.widgets.tab_order import tab_after

CELL_PX = 232


class SliceCell(QWidget):
    """One slice: its device's colour and name, and its size."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._place = 0
        self._dot = Dot(theme)
        self._name = Label("", "mono")
        self._name.setMinimumWidth(self._name.fontMetrics().horizontalAdvance("GPU:00") + GRID // 2)
        self.field = MemoryField("")
        self.field.setFixedWidth(136)
        self._share = Label("", "caption")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        for widget in (self._dot, self._name, self.field, self._share):
            row.addWidget(widget)
        row.addStretch(1)
        theme.changed.connect(self._colour)

    def show_slice(self, track: Track, index: int) -> None:
        """Show a slice of a card, or the whole card."""
        self._place = track.place(index)
        self._name.setText(track.name(index))
        self.field.setAccessibleName(f"memory of {track.name(index)}")
        nothing = "all that is free" if len(track.sizes) < 2 else ""
        self.field.show_value(track.sizes[index] if track.sizes else 0, nothing)
        shown = track.sizes and track.total
        self._share.setText(f"{100 * track.sizes[index] / track.total:.0f} %" if shown else "")
        self._colour()

    def _colour(self) -> None:
        self._dot.set_colour(self._theme.tokens.device_colour(self._place))


class SliceFields(QWidget):
    """A cell for each slice, in as many columns as there is room for.

    `sized(index, MiB)` is what was typed; `entered(index)` is the slice whose field has the focus now.
    """

    sized = Signal(int, int)
    entered = Signal(int)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.cells: list[SliceCell] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * GRID)
        self._grid.setVerticalSpacing(GRID - 2)
        self._columns = 1

    def show_track(self, track: Track) -> None:
        """Show the slices. Cells stay as long as there are so many slices, with the focus that one may have."""
        count = len(track.cut.sizes)
        while len(self.cells) > count:
            cell = self.cells.pop()
            self._grid.removeWidget(cell)
            cell.hide()
            cell.deleteLater()
        while len(self.cells) < count:
            self._add()
        for index, cell in enumerate(self.cells):
            cell.show_slice(track, index)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One column."""
        cell = self.cells[0].minimumSizeHint().width() if self.cells else 0
        return QSize(cell, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Put the cells into as many columns as fit."""
        super().resizeEvent(event)
        columns = max(1, self.width() // CELL_PX)
        if columns != self._columns:
            self._columns = columns
            for index, cell in enumerate(self.cells):
                self._put(index, cell)

    def _add(self) -> None:
        index, cell = len(self.cells), SliceCell(self._theme)
        cell.field.edited.connect(lambda size: self.sized.emit(index, size))
        cell.field.focused.connect(lambda: self.entered.emit(index))
        self.cells.append(cell)
        self._put(index, cell)
        tab_after(self, [each.field for each in self.cells])

    def _put(self, index: int, cell: SliceCell) -> None:
        self._grid.addWidget(cell, index // self._columns, index % self._columns)
