"""The toolbar of the Layers tab: the view, the micro-batches, and Place for me.

Placing is a job for another thread: it takes what the user asks for and returns the change of
the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QVBoxLayout, QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import grouped, plural
from gpu_studio.lab.machine_figures import MachineFigures
from gpu_studio.placement.plan_facts import ModelFacts
from gpu_studio.placement.schedule import StepTimeline
from gpu_studio.placement.search import Objective
from gpu_studio.placement.suggestion import NothingFits, Suggestion, suggest
from gpu_studio.placement.work import chosen_devices, places
from gpu_studio.plan import Machine, Placed, Plan, strategy_of
from gpu_studio.plan.edits import distribution as edits
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.distribution import place_all, set_recompute, spread
from gpu_studio.plan.options import PLACED_LIMITS
from gpu_studio.ui.kit import GRID, Button, Label, Paragraph
from gpu_studio.ui.kit.fields import Segments, WholeNumber
from gpu_studio.ui.plan.form.form import FactLines
from gpu_studio.ui.plan.layers.forecast import (
    NO_FIGURES,
    Forecast,
    Measurement,
    at_once,
    bubble_tip,
    edge_in_words,
    nothing_fits_in_words,
    pace_in_words,
    times_for,
)
from gpu_studio.ui.plan.plan_view import PlanView


class PlaceButton(Button):
    """`wanted(objective)` is the user's choice.

    `keep` says whether the number of micro-batches stays.
    """

    wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Place for me", parent=parent, small=True)
        self.setProperty("menu", True)
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        for objective, title in TITLES.items():
            action = menu.addAction(title)
            action.setToolTip(TIPS[objective])
            action.triggered.connect(
                lambda _=False, objective=objective: self.wanted.emit(objective)
            )
        menu.addSeparator()
        self._keep = menu.addAction("Keep the micro-batches")
        self._keep.setCheckable(True)
        self._keep.setToolTip("Do not look for a better number of them")
        self.setMenu(menu)

    @property
    def keep(self) -> bool:
        """Whether the number of micro-batches is given."""
        return self._keep.isChecked()

    def allow(self, why_not: str) -> None:
        """Enable it, or say why it is disabled."""
        self.setEnabled(not why_not)
        self.setToolTip(why_not or "Put every layer where it serves best; one undo takes it back")


WORDS = (
    "With layers placed, each layer runs where you put it: forward, backward and update, with its "
    "weights. The layers are first placed, one stretch on each device, for the least time of a "
    "step; then drag them as you like."
)


class StartPanel(QWidget):
    """Names the current strategy, and offers to place the layers: `button`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = Label("", "strong")
        self.button = Button("Use layers placed")
        column = QVBoxLayout(self)
        column.setSpacing(GRID)
        column.addStretch(1)
        for widget in (self.title, Paragraph(WORDS, "muted"), self.button):
            column.addWidget(
                widget,
                0,
                Qt.AlignmentFlag.AlignLeft if widget is self.button else Qt.AlignmentFlag(0),
            )
        column.addStretch(2)

    def show_plan(self, plan: Plan, why_not: str) -> None:
        """Show what the plan does now; `why_not` is why the layers cannot be placed yet."""
        strategy = strategy_of(plan).title
        self.title.setText(f"This plan does not place its layers: its strategy is {strategy}.")
        self.button.setEnabled(not why_not)
        self.button.setToolTip(why_not or "One undo takes it back")


MOST = 8


class Crossings(QWidget):
    """Hidden where nothing is sent between devices."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lines = FactLines()
        self._rest = Label("", "caption")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(Label("CROSSES DEVICES", "section"))
        column.addWidget(self.lines)
        column.addWidget(self._rest)

    def show_step(self, found: Forecast | None) -> None:
        """Show what is sent between devices."""
        edges = sorted(found.crossing, key=lambda edge: -edge.bytes) if found else []
        self.setVisible(bool(edges))
        self.lines.set_lines([edge_in_words(edge) for edge in edges[:MOST]])
        self._rest.setText(
            f"and {grouped(len(edges) - MOST)} smaller ones" if len(edges) > MOST else ""
        )
        self._rest.setVisible(len(edges) > MOST)


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
        """Show the plan's number of micro-batches, and its error."""
        part = view.plan.distribution.placed or Placed()
        self.micro_batches.show_value(part.micro_batches)
        wrong = " ".join(problem.advice for problem in view.problems_at(FIELD))
        self.micro_batches.set_tip(
            wrong
            or "A batch is cut into this many parts, so that the devices work at the same time"
        )

    def show_step(self, found: Forecast | None, step: StepTimeline | None) -> None:
        """Show the bubble of a step; None hides it."""
        there = found is not None and step is not None and len(found.used) > 1
        self.bubble.setText(f"bubble {figures.share(step.bubble)}" if there and step else "")
        self.bubble.setToolTip(bubble_tip(found) if there and found else "")

    def _cut(self, count: int) -> None:
        self.edited.emit(
            Change(lambda plan: edits.set_micro_batches(plan, count), "change micro-batches", FIELD)
        )

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


TITLES: Mapping[Objective, str] = {
    "fastest": "Fastest",
    "least_memory": "Least memory",
    "fewest_transfers": "Fewest transfers",
}
TIPS: Mapping[Objective, str] = {
    "fastest": (
        "The least time of a step, of placements that give each device one stretch of layers"
    ),
    "least_memory": "The least share of its memory on the fullest device",
    "fewest_transfers": "The fewest bytes from device to device",
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What to place, and how; with `keep` the number of micro-batches stays."""

    plan: Plan
    machine: Machine
    model: ModelFacts
    measured: Measurement | None
    objective: Objective
    keep: bool = False
    figures: MachineFigures = NO_FIGURES


@dataclass(frozen=True, slots=True)
class PlacingOutcome:
    """The change that places the layers, or None, and the message about it.

    A further change recomputes activations, if the model fits only that way.
    """

    change: Change | None
    said: str
    offer: Change | None = None


def placed_for(wish: Wish) -> PlacingOutcome:
    """Find the placement. Raises ValueError if there are no layers or no devices."""
    plan = wish.plan if strategy_of(wish.plan).places_layers else spread(wish.plan)
    logical = chosen_devices(plan, wish.machine)
    times, links, estimate = times_for(plan, wish.model, logical, wish.measured, wish.figures)
    devices = places(logical, wish.machine, links)
    turns = at_once(range(len(logical)), logical, wish.machine)
    count = (plan.distribution.placed or Placed()).micro_batches if wish.keep else None
    batch = max(1, plan.training.batch_size)
    again = (plan.distribution.placed or Placed()).recompute
    found = suggest(
        wish.model, devices, batch, times, wish.objective, count, turns, recompute=again
    )
    if isinstance(found, NothingFits):
        offer = _change(found.recomputed, wish) if found.recomputed else None
        return PlacingOutcome(None, nothing_fits_in_words(found), offer)
    pace = pace_in_words(estimate, wish.figures)
    return PlacingOutcome(_change(found, wish), _said(found, wish.objective, pace))


def _change(found: Suggestion, wish: Wish) -> Change:
    def make(plan: Plan) -> Plan:
        ready = plan if strategy_of(plan).places_layers else spread(plan)
        return set_recompute(place_all(ready, found.layers, found.micro_batches), found.recompute)

    return Change(make, f"place the layers: {TITLES[wish.objective].lower()}")


def _said(found: Suggestion, objective: Objective, pace: str) -> str:
    used = len(set(found.layers.values()))
    parts = f"{grouped(found.micro_batches)} micro-batch{'' if found.micro_batches == 1 else 'es'}"
    again = ", with activations recomputed" if found.recompute else ""
    by = f" By FLOPs {pace}." if pace else ""
    return f"{TITLES[objective]}: on {plural(used, 'device')}, in {parts}{again}.{by}"
