"""The head of the Layers tab: which view, the micro-batches, and Place for me."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gpu_studio.placement.schedule import Timeline
from gpu_studio.plan import Placed
from gpu_studio.plan.limits import PLACED_LIMITS
from gpu_studio.ui.models import figures
from gpu_studio.ui.models.plan.edits import distribution as edits
from gpu_studio.ui.models.plan.lanes.forecast import Forecast
from gpu_studio.ui.models.plan.lanes.words import bubble_tip
from gpu_studio.ui.models.plan.plan_view import Change, PlanView
from gpu_studio.ui.pages.plan.lanes.place_button import PlaceButton
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.fields import Segments, WholeNumber
from gpu_studio.ui.widgets.labels import Label

VIEWS = {"lanes": "Lanes", "graph": "Graph"}
FIELD = "distribution.placed.micro_batches"


class Toolbar(QWidget):
    """`edited(Change)` is another number of micro-batches, `view_chosen(name)` another view."""

    edited = Signal(object)
    view_chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        limit = next(each for each in PLACED_LIMITS if each.name == "micro_batches")
        self.views = Segments("view", VIEWS)
        self.views.show_value("lanes")
        self.micro_batches = WholeNumber("micro-batches", int(limit.least), int(limit.most))
        self.micro_batches.setFixedWidth(7 * GRID)
        self.bubble = Label("", "muted")
        self.place = PlaceButton()
        self.views.edited.connect(self.view_chosen)
        self.micro_batches.edited.connect(self._cut)
        self._lay_out()

    def show_view(self, view: PlanView) -> None:
        """Show the plan's number of micro-batches, and what is wrong with it."""
        part = view.plan.distribution.placed or Placed()
        self.micro_batches.show_value(part.micro_batches)
        wrong = " ".join(problem.advice for problem in view.problems_at(FIELD))
        self.micro_batches.set_tip(wrong or "A batch is cut into so many parts, so that the devices work at one time")

    def show_step(self, found: Forecast | None, step: Timeline | None) -> None:
        """Show the bubble of a step; None takes it away."""
        there = found is not None and step is not None and len(found.used) > 1
        self.bubble.setText(f"bubble {figures.percent(step.bubble)}" if there and step else "")
        self.bubble.setToolTip(bubble_tip(found) if there and found else "")

    def _cut(self, count: int) -> None:
        self.edited.emit(Change(lambda plan: edits.set_micro_batches(plan, count), "change micro-batches", FIELD))

    def _lay_out(self) -> None:
        name = Label("micro-batches", "muted")
        name.setBuddy(self.micro_batches)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(self.views)
        row.addStretch(1)
        for widget in (name, self.micro_batches, self.bubble, self.place):
            row.addWidget(widget)
