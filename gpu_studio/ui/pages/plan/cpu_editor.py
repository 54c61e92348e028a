"""The CPU in the Devices tab: into how many logical CPUs it is cut."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.plan.logical import CPU
from gpu_studio.plan.rules.device_rules import MOST_SLICES
from gpu_studio.ui.models.plan.edits.carving import set_slices
from gpu_studio.ui.models.plan.plan_view import Change, PlanView
from gpu_studio.ui.models.plan.strips import NO_LIMIT, Strip
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.carving.slice_bar import SliceBar
from gpu_studio.ui.widgets.fields import WholeNumber
from gpu_studio.ui.widgets.labels import Elided, Label, Paragraph
from gpu_studio.ui.widgets.problem_line import ProblemLine

ABOUT = (
    f"{NO_LIMIT} All logical CPUs share the host's memory and its cores. They stand for cards where there are none, so "
    "that a plan for several devices can be tried."
)


class CpuEditor(QWidget):
    """Shows the logical CPUs. `edited(Change)` is what is wanted."""

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view: PlanView | None = None
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
        for widget in (self._bar, self.problem, Paragraph(ABOUT, "caption")):
            column.addWidget(widget)
        column.addStretch(1)

    def _cut(self, count: int) -> None:
        if self._view is not None:
            machine = self._view.machine
            change = Change(
                lambda plan: set_slices(plan, CPU, count, machine), f"cut {CPU} into {count}", f"devices.carve.{CPU}"
            )
            self.edited.emit(change)
