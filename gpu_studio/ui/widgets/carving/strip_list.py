"""Physical devices under each other, each with its bar."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.ui.models.plan.strips import Strip
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.carving.strip_view import StripView
from gpu_studio.ui.widgets.tab_order import tab_after

LOW, MIDDLE = 28, 40
FEW = 3
"""Up to so many devices that stand in a line each, their bars are higher."""


class StripList(QWidget):
    """The devices under each other. `slices_chosen` and `carved` are what a person wants of one of them."""

    slices_chosen = Signal(str, int)
    carved = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("plain")
        self._theme = theme
        self.views: dict[str, StripView] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(GRID)
        self._column.addStretch(1)

    def show_strips(self, strips: Sequence[Strip]) -> None:
        """Show these devices; the views of those that were shown already stay, with the focus that one may have."""
        anew = [strip.device for strip in strips] != list(self.views)
        if anew:
            self._rebuild(strips)
        for strip in strips:
            self.views[strip.device].show_strip(strip)
        if anew:
            tab_after(self, [part for view in self.views.values() for part in (view.bar, view.choice)])
        self.updateGeometry()

    def _rebuild(self, strips: Sequence[Strip]) -> None:
        for view in self.views.values():
            self._column.removeWidget(view)
            view.hide()
            view.deleteLater()
        bar = 0 if len(strips) == 1 else MIDDLE if len(strips) <= FEW else LOW
        self.views = {strip.device: StripView(self._theme, strip, bar=bar) for strip in strips}
        for place, view in enumerate(self.views.values()):
            view.slices_chosen.connect(self.slices_chosen)
            view.carved.connect(self.carved)
            self._column.insertWidget(place, view)
            view.show()  # one that is hidden has no height, and Qt would show it only after the first paint of the rest
