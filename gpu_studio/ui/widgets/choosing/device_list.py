"""Logical devices to check, or to choose one of."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from gpu_studio.ui.models.plan.strategy_rows import DeviceRow
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.choosing.choice_row import ChoiceRow
from gpu_studio.ui.widgets.choosing.choosable import ChoiceGroup

_COLUMNS = 2


class DeviceList(QWidget):
    """The rows of devices that were shown already stay, with the focus that one may have.

    `picked(device, checked)` is what a person wants; in a list of which one is chosen, `checked` is always True.
    """

    picked = Signal(str, bool)

    def __init__(self, what: str, theme: ThemeManager, parent: QWidget | None = None, *, several: bool) -> None:
        super().__init__(parent)
        self._what = what
        self._theme = theme
        self._several = several
        self._group: ChoiceGroup | None = None
        self.rows: dict[str, ChoiceRow] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(2)

    def show_rows(self, rows: Sequence[DeviceRow]) -> None:
        """Show these devices."""
        if [row.device for row in rows] != list(self.rows):
            self._rebuild(rows)
        for row in rows:
            self.rows[row.device].say(row.note, place=row.place)
            if self._several:
                self.rows[row.device].setChecked(row.checked)
        if self._group is not None:
            self._group.show_chosen(next((row.device for row in rows if row.checked), "-"))

    def _rebuild(self, rows: Sequence[DeviceRow]) -> None:
        for old in self.rows.values():
            self._grid.removeWidget(old)
            old.hide()
            old.deleteLater()
        if self._group is not None:
            self._group.deleteLater()
        self.rows = {row.device: self._made(row) for row in rows}
        for place, made in enumerate(self.rows.values()):
            self._grid.addWidget(made, place // _COLUMNS, place % _COLUMNS)
        self._group = None if self._several else ChoiceGroup(self.rows, _COLUMNS, self)
        if self._group is not None:
            self._group.chosen.connect(lambda device: self.picked.emit(device, True))

    def _made(self, row: DeviceRow) -> ChoiceRow:
        made = ChoiceRow(
            row.title,
            f"{self._what}: {row.title}",
            self._theme,
            mark="square" if self._several else "round",
            one_line=True,
        )
        if self._several:
            made.clicked.connect(lambda checked, device=row.device: self._check(device, checked))
        return made

    def _check(self, device: str, checked: bool) -> None:
        if not checked and not any(row.isChecked() for row in self.rows.values()):
            # One has to do the work: a plan that names none means all.
            self.rows[device].setChecked(True)
            return
        self.picked.emit(device, checked)
