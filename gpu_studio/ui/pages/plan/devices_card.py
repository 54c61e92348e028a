"""The first card of a plan: each physical device to scale, and into how many slices it is cut."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QScrollArea, QWidget

from gpu_studio.ui.models.plan.edits.carving import Carved, change_of, equal_change
from gpu_studio.ui.models.plan.plan_view import PlanView
from gpu_studio.ui.models.plan.strips import said_of_all, strips_of
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.carving.strip_list import StripList
from gpu_studio.ui.widgets.labels import Label
from gpu_studio.ui.widgets.problem_line import ProblemLine

HIGHEST = 168


class DevicesCard(Card):
    """Shows the devices under the plan, and takes drags; `edited(Change)` is what the person wants.

    Devices that have no room are reached by scrolling.
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
        self._area = _Area(self.list)
        self.body.addWidget(self._waiting)
        self.body.addWidget(self.problem)
        self.body.addWidget(self._area, 1)

    def show_view(self, view: PlanView) -> None:
        """Show the devices of the machine under the plan."""
        self._view = view
        self._waiting.hide()
        self.list.show_strips(strips_of(view.plan, view.machine, view.problems))
        self.problem.say(said_of_all(view.problems))
        self._area.updateGeometry()

    def _carve(self, carved: Carved) -> None:
        if self._view is not None:
            self.edited.emit(change_of(carved, self._view.machine))

    def _cut(self, device: str, count: int) -> None:
        if self._view is not None:
            self.edited.emit(equal_change(device, count, self._view.machine))


class _Area(QScrollArea):
    """As high as what is in it, up to a height that leaves room for the rest of the page."""

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
