"""The Devices card: each physical device to scale, and the number of its slices."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from gpu_studio.plan.edits.carving import Carved, change_of, equal_change
from gpu_studio.ui.kit.card import CardFrame
from gpu_studio.ui.kit.focus import tab_after
from gpu_studio.ui.kit.labels import Label
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.plan.carving.strip_view import StripView
from gpu_studio.ui.plan.carving.strips import Strip, said_of_all, strips_of
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.problem_line import ProblemLine

LOW, MIDDLE = 28, 40
FEW = 3
"""Up to so many devices that stand in a line each, their bars are higher."""


class StripList(QWidget):
    """The devices, one below the other.

    `slices_chosen` and `carved` are requests for one of them.
    """

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
        """Show these devices; the views of those already shown stay, and so does the focus."""
        changed = [strip.device for strip in strips] != list(self.views)
        if changed:
            self._rebuild(strips)
        for strip in strips:
            self.views[strip.device].show_strip(strip)
        if changed:
            tab_after(
                self, [part for view in self.views.values() for part in (view.bar, view.choice)]
            )
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
            view.show()  # a hidden view has no height, and Qt would show it late


HIGHEST = 168


class DevicesCard(CardFrame):
    """Shows the devices under the plan, and takes drags; `edited(Change)` is the user's change.

    Devices that do not fit are reached by scrolling.
    """

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("1 · Devices", parent)
        self._view: PlanView | None = None
        self.list = StripList(theme)
        self.list.carved.connect(self._carve)
        self.list.slices_chosen.connect(self._cut)
        self.problem = ProblemLine(theme, one_line=True)
        self._waiting = Label("looking at the machine…", "muted")
        self.area = _Area(self.list)
        self.body.addWidget(self._waiting)
        self.body.addWidget(self.problem)
        self.body.addWidget(self.area, 1)

    def show_view(self, view: PlanView) -> None:
        """Show the devices of the machine under the plan."""
        self._view = view
        self._waiting.hide()
        self.list.show_strips(strips_of(view.plan, view.machine, view.problems))
        self.problem.say(said_of_all(view.problems))
        self.area.updateGeometry()

    def _carve(self, carved: Carved) -> None:
        if self._view is not None:
            self.edited.emit(change_of(carved, self._view.machine))

    def _cut(self, device: str, count: int) -> None:
        if self._view is not None:
            self.edited.emit(equal_change(device, count, self._view.machine))


class _Area(QScrollArea):
    """As high as its contents, up to a height that leaves space for the rest of the page."""

    def __init__(self, inside: QWidget) -> None:
        super().__init__()
        self._inside = inside
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(inside)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The height of the devices."""
        inside = self._inside.sizeHint()
        return QSize(inside.width(), min(inside.height(), HIGHEST))
