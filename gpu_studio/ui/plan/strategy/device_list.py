"""Logical devices to check, or to choose one from."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from gpu_studio.ui.kit.choosing.choosable import ChoiceGroup, ChoiceRow
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.plan.strategy.strategy_rows import StrategyRow

_COLUMNS = 2


class StrategyDeviceList(QWidget):
    """The rows of devices that were already shown stay, and so does the focus.

    `picked(device, checked)` is the user's choice; in a list that offers a single choice, `checked`
    is always True.
    """

    picked = Signal(str, bool)

    def __init__(
        self, what: str, theme: ThemeManager, parent: QWidget | None = None, *, several: bool
    ) -> None:
        super().__init__(parent)
        self._what = what
        self._theme = theme
        self._several = several
        self._group: ChoiceGroup | None = None
        self.rows: dict[str, ChoiceRow] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(2)

    def show_rows(self, rows: Sequence[StrategyRow]) -> None:
        """Show these devices."""
        if [row.device for row in rows] != list(self.rows):
            self._rebuild(rows)
        for row in rows:
            self.rows[row.device].say(row.note, place=row.place)
            if self._several:
                self.rows[row.device].setChecked(row.checked)
        if self._group is not None:
            self._group.show_chosen(next((row.device for row in rows if row.checked), "-"))

    def _rebuild(self, rows: Sequence[StrategyRow]) -> None:
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

    def _made(self, row: StrategyRow) -> ChoiceRow:
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
            # At least one must do the work: a plan that names none means all.
            self.rows[device].setChecked(True)
            return
        self.picked.emit(device, checked)
