"""The Devices tab: everything that a plan can say of the physical devices."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QHBoxLayout,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gpu_studio.plan import CPU, Plan
from gpu_studio.plan.carving import set_slices
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.visibility import (
    name_by_number,
    name_by_uuid,
    named_cards,
    names_by_uuid,
    set_devices,
)
from gpu_studio.plan.rules.device_rules import MOST_SLICES
from gpu_studio.ui.kit import GRID, ActionButton, Elided, Label, Paragraph, ThemeManager
from gpu_studio.ui.kit.fields import Switch, WholeNumber
from gpu_studio.ui.plan.carving.card_editor import CardEditor
from gpu_studio.ui.plan.carving.slice_bar import SliceBar
from gpu_studio.ui.plan.carving.strips import NO_LIMIT, Strip, all_strips, in_words, said_of_all
from gpu_studio.ui.plan.device_list import DeviceList
from gpu_studio.ui.plan.plan_view import PlanView, ProblemLine

TIPS = {
    "memory_growth": (
        "Take a card's memory only as it is needed, instead of all that is free at once"
    ),
    "soft_placement": (
        "Let TensorFlow run an operation on another device where the one it was placed on has no "
        "kernel for it. Off: such an operation ends the run, so that nothing runs elsewhere "
        "unnoticed"
    ),
    "log_placement": "Record on which device every operation was placed, in the run's log",
}
UUID_TIP = (
    "A UUID is the number of one card in the world: it means the same card after a reboot, and "
    "when cards were put in or taken out. GPU:0 is whichever comes first on the PCI bus"
)
NONE_NAMED = "The plan names no card: it takes all of them, whole"


class DeviceSwitches(QWidget):
    """A switch for each option of the devices. `edited(Change)` is the user's change."""

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view: PlanView | None = None
        self.switches = {field: _switch(field.replace("_", " ")) for field in TIPS}
        self.by_uuid = _switch("cards by UUID")
        self.problem = ProblemLine(theme, one_line=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for field, switch in self.switches.items():
            switch.setToolTip(TIPS[field])
            switch.edited.connect(lambda on, field=field: self._set(field, on))
            column.addWidget(switch)
            if field == "memory_growth":
                column.addWidget(self.problem)
        self.by_uuid.edited.connect(self._name)
        column.addWidget(self.by_uuid)

    def show_view(self, view: PlanView) -> None:
        """Show what the plan says."""
        self._view = view
        devices = view.plan.devices
        for field, switch in self.switches.items():
            switch.setChecked(bool(getattr(devices, field)))
        growth = self.switches["memory_growth"]
        locked = bool(devices.carve) and not devices.memory_growth
        growth.setEnabled(not locked)
        growth.setToolTip(
            "Memory cannot grow while a device is carved" if locked else TIPS["memory_growth"]
        )
        self.problem.say(
            tuple(in_words(each) for each in view.problems_at("devices.memory_growth"))
        )
        self._show_names(view.plan)

    def _show_names(self, plan: Plan) -> None:
        named = named_cards(plan)
        self.by_uuid.setChecked(names_by_uuid(plan))
        self.by_uuid.setEnabled(bool(named))
        self.by_uuid.setToolTip(UUID_TIP if named else f"{UUID_TIP}.\n{NONE_NAMED}")

    def _set(self, field: str, on: bool) -> None:
        words = field.replace("_", " ")
        self.edited.emit(
            Change(
                lambda plan: set_devices(plan, **{field: on}), f"{words} {'on' if on else 'off'}"
            )
        )

    def _name(self, on: bool) -> None:
        if self._view is None:
            return
        named, machine = name_by_uuid if on else name_by_number, self._view.machine
        text = f"name cards by {'UUID' if on else 'number'}"
        self.edited.emit(Change(lambda plan: named(plan, machine), text))
        # A card of unknown UUID keeps its number, and the plan stays as it was.
        self._show_names(self._view.plan)


def _switch(words: str) -> Switch:
    return Switch(words, on=words, off=words)


ABOUT = (
    f"{NO_LIMIT} All logical CPUs share the host's memory and its cores. They stand for cards "
    "where there are none, so that a plan for several devices can be tried."
)


OFFER = (
    "There is no card here: carved CPUs train in the same way, and practice cards have memory "
    "limits too, as real ones do."
)


class CpuEditor(QWidget):
    """Shows the logical CPUs. `edited(Change)` is the user's change."""

    edited = Signal(object)

    def __init__(
        self, theme: ThemeManager, practise: QAction | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._view: PlanView | None = None
        self.offer = _offer(practise)
        self._detail = Elided(role="muted")
        self.count = WholeNumber("number of logical CPUs", 1, MOST_SLICES)
        self.count.setFixedWidth(72)
        self.count.edited.connect(self._cut)
        self._bar = SliceBar(theme)
        self._bar.setAccessibleName("logical CPUs")
        self.problem = ProblemLine(theme)
        self._lay_out()

    def show_strip(self, strip: Strip, view: PlanView) -> None:
        """Show the CPU under the plan."""
        self._view = view
        self._detail.setText(strip.detail)
        self.count.show_value(strip.slices)
        self._bar.show_segments(strip.segments)
        self.problem.say(strip.errors)
        self.offer.setVisible(not view.machine.cards)

    def _lay_out(self) -> None:
        head, column = QHBoxLayout(), QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID)
        head.setSpacing(GRID)
        label = Label("logical CPUs", "muted")
        label.setBuddy(self.count)
        head.addWidget(Label("CPU", "strong"))
        head.addWidget(self._detail)
        head.addStretch(1)
        head.addWidget(label)
        head.addWidget(self.count)
        column.addLayout(head)
        for widget in (self._bar, self.problem, Paragraph(ABOUT, "caption"), self.offer):
            column.addWidget(widget)
        column.addStretch(1)

    def _cut(self, count: int) -> None:
        if self._view is not None:
            machine = self._view.machine
            change = Change(
                lambda plan: set_slices(plan, CPU, count, machine),
                f"cut {CPU} into {count}",
                f"devices.carve.{CPU}",
            )
            self.edited.emit(change)


def _offer(practise: QAction | None) -> QWidget:
    """What a machine without a card can do besides."""
    offer = QWidget()
    column = QVBoxLayout(offer)
    column.setContentsMargins(0, GRID, 0, 0)
    column.addWidget(Paragraph(OFFER))
    if practise is not None:
        button = ActionButton(practise, small=True)
        column.addWidget(button, alignment=Qt.AlignmentFlag.AlignLeft)
    return offer


SIDE_PX = 156


class DevicesTab(QWidget):
    """The devices at the left, the selected one at the right.

    `edited(Change)` is the user's change.
    """

    edited = Signal(object)

    def __init__(
        self, theme: ThemeManager, practise: QAction | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._view: PlanView | None = None
        self._strips: dict[str, Strip] = {}
        self.list = DeviceList(theme)
        self.switches = DeviceSwitches(theme)
        self.problem = ProblemLine(theme)
        self.card = CardEditor(theme)
        self.cpu = CpuEditor(theme, practise)
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
        """Show this physical device. Raises KeyError if there is none of that name."""
        self.list.choose(self._strips[device].device)

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
    """Only as high as the visible editor, so that nothing scrolls needlessly."""

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
