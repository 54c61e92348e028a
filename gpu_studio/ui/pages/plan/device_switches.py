"""What is said of all devices at once: growth, placement, and how cards are called."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.plan import Plan
from gpu_studio.ui.models.plan.edits.device_names import name_by_number, name_by_uuid, named_cards, names_by_uuid
from gpu_studio.ui.models.plan.edits.visibility import set_devices
from gpu_studio.ui.models.plan.plan_view import Change, PlanView
from gpu_studio.ui.models.plan.strips import in_words
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.fields import Switch
from gpu_studio.ui.widgets.problem_line import ProblemLine

TIPS = {
    "memory_growth": "Take a card's memory only as it is needed, instead of all that is free at once",
    "soft_placement": (
        "Let TensorFlow run an operation on another device where the one it was placed on has no kernel for it. Off: "
        "such an operation ends the run, so that nothing runs elsewhere unnoticed"
    ),
    "log_placement": "Record on which device every operation was placed, in the run's log",
}
UUID_TIP = (
    "A UUID is the number of one card in the world: it means the same card after a reboot, and when cards were put in "
    "or taken out. GPU:0 is whichever comes first on the PCI bus"
)
NONE_NAMED = "The plan names no card: it takes all of them, whole"


class DeviceSwitches(QWidget):
    """A switch for each. `edited(Change)` is what is wanted."""

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
        growth.setToolTip("Memory cannot grow while a device is carved" if locked else TIPS["memory_growth"])
        self.problem.say(tuple(in_words(each) for each in view.problems_at("devices.memory_growth")))
        self._show_names(view.plan)

    def _show_names(self, plan: Plan) -> None:
        named = named_cards(plan)
        self.by_uuid.setChecked(names_by_uuid(plan))
        self.by_uuid.setEnabled(bool(named))
        self.by_uuid.setToolTip(UUID_TIP if named else f"{UUID_TIP}.\n{NONE_NAMED}")

    def _set(self, field: str, on: bool) -> None:
        words = field.replace("_", " ")
        self.edited.emit(Change(lambda plan: set_devices(plan, **{field: on}), f"{words} {'on' if on else 'off'}"))

    def _name(self, on: bool) -> None:
        if self._view is None:
            return
        named, machine = name_by_uuid if on else name_by_number, self._view.machine
        text = f"name cards by {'UUID' if on else 'number'}"
        self.edited.emit(Change(lambda plan: named(plan, machine), text))
        # A card whose UUID is not known keeps its number, and the plan is as it was.
        self._show_names(self._view.plan)


def _switch(words: str) -> Switch:
    return Switch(words, on=words, off=words)
