"""The first card of a plan: each physical device to scale, and into how many slices it is cut."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QScrollArea, QWidget

from gpu_studio.plan import Machine, Plan
from gpu_studio.ui.models.strips import strips_of
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.labels import Label
from gpu_studio.ui.widgets.strip_view import StripList

HIGHEST = 250


class DevicesCard(Card):
    """Shows the devices under the plan; those that have no room are reached by scrolling."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("1 · Devices", parent)
        self.list = StripList(theme)
        self._waiting = Label("looking at the machine…", "muted")
        self._area = _Area(self.list)
        self.body.addWidget(self._waiting)
        self.body.addWidget(self._area, 1)

    def show_plan(self, plan: Plan, machine: Machine) -> None:
        """Show the devices of the machine under the plan."""
        self._waiting.hide()
        self.list.show_strips(strips_of(plan, machine))
        self._area.updateGeometry()


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
