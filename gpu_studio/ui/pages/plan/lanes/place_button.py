"""The button that has the layers placed, for what a person wants of the placement."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QWidget

from gpu_studio.ui.models.plan.lanes.placing_job import TIPS, TITLES
from gpu_studio.ui.widgets.button import Button


class PlaceButton(Button):
    """`wanted(objective)` is what a person chose; `keep` says whether the batch is to stay cut as it is."""

    wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Place for me", parent=parent, small=True)
        self.setProperty("menu", True)
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        for objective, title in TITLES.items():
            action = menu.addAction(title)
            action.setToolTip(TIPS[objective])
            action.triggered.connect(lambda _=False, objective=objective: self.wanted.emit(objective))
        menu.addSeparator()
        self._keep = menu.addAction("Keep the micro-batches")
        self._keep.setCheckable(True)
        self._keep.setToolTip("Do not look for a better number of them")
        self.setMenu(menu)

    @property
    def keep(self) -> bool:
        """Whether the number of micro-batches is given."""
        return self._keep.isChecked()

    def allow(self, why_not: str) -> None:
        """Be enabled, or say why not."""
        self.setEnabled(not why_not)
        self.setToolTip(why_not or "Put every layer where it serves best; one undo takes it back")
