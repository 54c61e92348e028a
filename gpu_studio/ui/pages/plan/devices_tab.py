"""The Devices tab: everything that a plan can say of the physical devices."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from gpu_studio.plan.logical import CPU
from gpu_studio.ui.models.plan.plan_view import PlanView
from gpu_studio.ui.models.plan.strips import Strip, all_strips, said_of_all
from gpu_studio.ui.pages.plan.card_editor import CardEditor
from gpu_studio.ui.pages.plan.cpu_editor import CpuEditor
from gpu_studio.ui.pages.plan.device_list import DeviceList
from gpu_studio.ui.pages.plan.device_switches import DeviceSwitches
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.problem_line import ProblemLine

SIDE_PX = 156


class DevicesTab(QWidget):
    """The devices at the left, the chosen one at the right. `edited(Change)` is what the person wants."""

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view: PlanView | None = None
        self._strips: dict[str, Strip] = {}
        self.list = DeviceList(theme)
        self.switches = DeviceSwitches(theme)
        self.problem = ProblemLine(theme)
        self.card = CardEditor(theme)
        self.cpu = CpuEditor(theme)
        self._stack = _Stack((self.card, self.cpu))
        self._lay_out()
        self.list.chosen.connect(self._show_chosen)
        for part in (self.list, self.switches, self.card, self.cpu):
            part.edited.connect(self.edited)

    def show_view(self, view: PlanView) -> None:
        """Show the plan's devices on this machine."""
        self._view = view
        strips = all_strips(view.plan, view.machine, view.problems)
        self._strips = {strip.device: strip for strip in strips}
        self.list.show_strips(strips, view)
        self.switches.show_view(view)
        self.problem.say(said_of_all(view.problems))
        self._show_chosen()

    def choose(self, device: str) -> None:
        """Show this physical device. Raises KeyError if there is none of the name."""
        self.list.setCurrentRow(list(self._strips).index(self._strips[device].device))

    def _show_chosen(self) -> None:
        strip = self._strips.get(self.list.device)
        if strip is None or self._view is None:
            return
        editor = self.cpu if strip.device == CPU else self.card
        editor.show_strip(strip, self._view)
        self._stack.setCurrentWidget(editor)

    def _lay_out(self) -> None:
        row, side, main = QHBoxLayout(self), QVBoxLayout(), QVBoxLayout()
        row.setContentsMargins(0, GRID // 2, 0, 0)
        row.setSpacing(2 * GRID)
        left = QWidget()
        left.setFixedWidth(SIDE_PX)
        left.setLayout(side)
        side.setContentsMargins(0, 0, 0, 0)
        side.setSpacing(GRID)
        side.addWidget(self.list, 1)
        side.addWidget(self.switches)
        main.addWidget(self.problem)
        main.addWidget(_scrolling(self._stack), 1)
        row.addWidget(left)
        row.addLayout(main, 1)


class _Stack(QStackedWidget):
    """Only as high as the editor that is shown, so that nothing scrolls that need not."""

    def __init__(self, editors: tuple[QWidget, ...]) -> None:
        super().__init__()
        self.setObjectName("plain")
        self._editors = editors
        for editor in editors:
            self.addWidget(editor)
        self.currentChanged.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The editor's."""
        return self._now().sizeHint()

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The editor's."""
        return self._now().minimumSizeHint()

    def _now(self) -> QWidget:
        return self._editors[max(0, self.currentIndex())]


def _scrolling(inside: QWidget) -> QScrollArea:
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidget(inside)
    return area
