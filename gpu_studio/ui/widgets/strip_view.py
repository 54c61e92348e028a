"""A physical device in a few lines: its name, its slices to choose or to see, and its bar to scale."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.ui.models.plan_edits import MOST_SLICES
from gpu_studio.ui.models.strips import Strip
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.units import plural
from gpu_studio.ui.widgets.fields import Choice
from gpu_studio.ui.widgets.labels import Elided, Label
from gpu_studio.ui.widgets.slice_bar import SliceBar

WHOLE = "whole"


class StripView(QWidget):
    """One device: its name, its slices, its bar. Where it is not `editable`, the slices are only shown."""

    slices_chosen = Signal(str, int)

    def __init__(
        self, theme: ThemeManager, strip: Strip, parent: QWidget | None = None, *, editable: bool = True
    ) -> None:
        super().__init__(parent)
        self._device = strip.device
        self._editable = editable
        self._detail = Elided(role="muted")
        self._note = Elided(role="caption")
        self.choice = Choice(f"slices of {strip.name}", [_cut(count) for count in range(1, MOST_SLICES + 1)])
        self.choice.setToolTip(f"Into how many logical devices {strip.name} is cut")
        self.choice.edited.connect(self._choose)
        self._bar = SliceBar(theme)
        self._bar.setAccessibleName(f"slices of {strip.name}, to scale")
        top = QHBoxLayout()
        top.setSpacing(GRID)
        top.addWidget(Label(strip.name, "strong"))
        top.addWidget(self._detail)
        top.addStretch(1)
        top.addWidget(self.choice)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID - 2)
        column.addLayout(top)
        column.addWidget(self._bar)
        column.addWidget(self._note)

    def show_strip(self, strip: Strip) -> None:
        """Show the device as it is cut now."""
        self._detail.setText(strip.detail)
        self._bar.show_segments(strip.segments)
        self._note.setText(strip.note)
        self._note.setVisible(bool(strip.note))
        self.choice.setVisible(self._editable and strip.visible)
        if strip.slices:
            self.choice.show_value(_cut(strip.slices))

    def _choose(self, text: str) -> None:
        self.slices_chosen.emit(self._device, 1 if text == WHOLE else int(text.split()[0]))


class StripList(QWidget):
    """The devices under each other. `slices_chosen(device, count)` is what a person wants of one of them."""

    slices_chosen = Signal(str, int)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None, *, editable: bool = True) -> None:
        super().__init__(parent)
        self.setObjectName("plain")
        self._theme = theme
        self._editable = editable
        self.views: dict[str, StripView] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(GRID + 4)
        self._column.addStretch(1)

    def show_strips(self, strips: Sequence[Strip]) -> None:
        """Show these devices; the views of those that were shown already stay, with the focus that one may have."""
        if [strip.device for strip in strips] != list(self.views):
            self._rebuild(strips)
        for strip in strips:
            self.views[strip.device].show_strip(strip)
        self.updateGeometry()

    def _rebuild(self, strips: Sequence[Strip]) -> None:
        for view in self.views.values():
            self._column.removeWidget(view)
            view.deleteLater()
        self.views = {strip.device: StripView(self._theme, strip, editable=self._editable) for strip in strips}
        for place, view in enumerate(self.views.values()):
            view.slices_chosen.connect(self.slices_chosen)
            self._column.insertWidget(place, view)


def _cut(count: int) -> str:
    return WHOLE if count == 1 else plural(count, "slice")
