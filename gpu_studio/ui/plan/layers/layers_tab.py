"""The Layers tab: which layer runs on which device, by dragging, and the resulting forecast.

`LayersPicture` is everything that it shows of one plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QStackedWidget, QVBoxLayout, QWidget

from gpu_studio.lab.machine_figures import MachineFigures
from gpu_studio.placement.known_problems import LAYERS, PLACED, MisplacedLayers
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import ModelGraph, PlanFacts
from gpu_studio.placement.schedule import StepTimeline
from gpu_studio.placement.search import Objective
from gpu_studio.plan import Plan, Problem, logical_devices, strategy_of
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.distribution import use_instead
from gpu_studio.runs.machine_figures import kept_figures
from gpu_studio.ui.kit import GRID, BackgroundTask, Note, Scrolled, ThemeManager, WhenSeen
from gpu_studio.ui.kit.device_place import places
from gpu_studio.ui.kit.step_view import TimelineView, measured_picture
from gpu_studio.ui.plan.layers.board import Board, board_of
from gpu_studio.ui.plan.layers.forecast import (
    NO_FIGURES,
    Forecast,
    Measurement,
    better,
    faster_in_words,
    forecast,
    label_of,
)
from gpu_studio.ui.plan.layers.graph_view import GraphView
from gpu_studio.ui.plan.layers.lane_grid import LaneGrid
from gpu_studio.ui.plan.layers.layer_moves import Ground, ground_of
from gpu_studio.ui.plan.layers.step_line import (
    MeasuredReader,
    StepLine,
    StepMaker,
    TimesReader,
    predicted_picture,
)
from gpu_studio.ui.plan.layers.toolbar import (
    Crossings,
    PlacingOutcome,
    StartPanel,
    Toolbar,
    Wish,
    placed_for,
)
from gpu_studio.ui.plan.plan_facts import FactsBar, FactsReader
from gpu_studio.ui.plan.plan_view import PlanView, ProblemLine

UNKNOWN_YET = "The model's layers are not known yet"


class LayersTab(QWidget):
    """`edited(Change)` is the user's change.

    `set_facts` brings what TensorFlow says of the model.
    """

    edited = Signal(object)

    def __init__(
        self,
        theme: ThemeManager,
        times: TimesReader | None = None,
        parent: QWidget | None = None,
        *,
        runs: Path | None = None,
    ) -> None:
        super().__init__(parent)
        self._view: PlanView | None = None
        self._reader: FactsReader | None = None
        self._lanes_picture: LayersPicture | None = None
        self._said = self._refused = ""
        self._offered: PlacingOutcome | None = None
        self._step_seconds: float | None = None
        self.times = times or TimesReader(parent=self)
        self.steps, self.worker = StepMaker(self), BackgroundTask("placing", self)
        self.measured = MeasuredReader(runs, self)
        self.figures, self._reading = NO_FIGURES, BackgroundTask("figures of this machine", self)
        self.bar, self.start = FactsBar("the model's layers"), StartPanel()
        self.toolbar, self.line = Toolbar(), StepLine(self.times)
        self.problem, self.remark, self.note = ProblemLine(theme), Note(), Note()
        self.grid, self.graph = LaneGrid(theme), GraphView(theme)
        self.timeline, self.crossings = TimelineView(theme), Crossings()
        self._seen = WhenSeen(self, self._show)
        self._lay_out()
        self._connect()

    def show_view(self, view: PlanView) -> None:
        """Show where the plan's layers run."""
        if self._view is None or view.plan != self._view.plan:
            self.worker.forget()
            self._refused = self._said = ""
            self._offered = None
        cards = [card.uuid for card in self._view.machine.cards] if self._view else None
        self._view = view
        if cards != [card.uuid for card in view.machine.cards]:
            self._read_figures()
        # Everything is shown once, below, whether the times have changed or not.
        self.times.blockSignals(True)
        self.times.follow(view.absolute, logical_devices(view.plan, view.machine))
        self.times.blockSignals(False)
        self._seen.now()

    def set_facts(self, reader: FactsReader) -> None:
        """Follow what TensorFlow says about the plan."""
        self._reader = reader
        reader.changed.connect(self._seen.want)
        self._seen.want()

    def step_seconds_of(self, plan: Plan) -> float | None:
        """The predicted seconds of a step of timed layers, if it is this plan that is shown."""
        is_shown = self._view is not None and self._view.plan == plan and not self._seen.due
        return self._step_seconds if is_shown else None

    def close_readers(self) -> None:
        """Stop all threads and processes."""
        self.times.close()
        self.steps.close()
        self.worker.close()
        self.measured.close()
        self._reading.close()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Check whether a run, or a benchmark, has meanwhile measured what is predicted here."""
        super().showEvent(event)
        self.measured.look()
        self._read_figures()

    # Showing

    def _read_figures(self) -> None:
        """Read what benchmarks have measured of the machine, off the window's thread."""
        if self._view is not None and self.isVisible():
            self._reading.start(partial(kept_figures, self._view.machine))

    def _take_figures(self, found: MachineFigures) -> None:
        if found != self.figures:
            self.figures = found
            self._seen.want()

    def _take_times(self) -> None:
        """Show what was measured, and let it correct the predicted memory."""
        if self._reader is not None and self.times.known is not None:
            self._reader.correct(self.times.known.held)
        self._seen.want()

    def _show(self) -> None:
        view = self._view
        if view is None:
            return
        facts = self._reader.facts if self._reader else None
        placed = strategy_of(view.plan).places_layers
        known_times, figures = self.times.known, self.figures
        self._lanes_picture = layers_picture(view, facts, known_times, figures) if placed else None
        known = facts is not None and facts.graph is not None
        if self._reader is not None:
            errors = (facts.data_error or facts.model_error, facts.advice) if facts else ("", ())
            self.bar.show_reader(self._reader, *errors, known=known)
        self.start.setVisible(not placed)
        self.start.show_plan(view.plan, self._why_not())
        self._show_parts(shown=placed and known)
        self._show_layers(view)

    def _show_parts(self, *, shown: bool) -> None:
        """Show the lanes, or hide them; the focus that is in them then stays in this tab."""
        inside = self._has_focus
        for part in (self.toolbar, self.line, self._pages):
            part.setVisible(shown)
        if inside and not self._has_focus:
            instead = self.bar if self.bar.isVisible() else self.start
            instead.button.setFocus(Qt.FocusReason.OtherFocusReason)

    @property
    def _has_focus(self) -> bool:
        focused = QApplication.focusWidget()
        return focused is not None and self.isAncestorOf(focused)

    def _show_layers(self, view: PlanView) -> None:
        picture = self._lanes_picture
        self.toolbar.show_view(view)
        self.toolbar.place.allow(self._why_not())
        self.line.show_view(view)
        if picture is not None:
            self.grid.show_board(picture.board, picture.ground)
            self.graph.show_graph(picture.graph, picture.board)
        self._show_problems()
        self.measured.follow(view.absolute if picture and picture.forecast else None)
        self._show_step(None, None)
        self.steps.make(picture.forecast if picture else None)

    def _show_step(self, found: Forecast | None, step: StepTimeline | None) -> None:
        # FLOPs compare steps; how long one really takes is known of timed layers only.
        self._step_seconds = (
            step.seconds if found is not None and found.timed and step is not None else None
        )
        self.toolbar.show_step(found, step)
        self.line.show_step(found, step)
        self.crossings.show_step(found)
        self.timeline.setVisible(
            self._lanes_picture is not None and self._lanes_picture.forecast is not None
        )
        if found is not None and step is not None:
            self.timeline.show_predicted(predicted_picture(found, step))
        self._show_note(found, step)

    def _show_measured(self) -> None:
        """Draw the measured step of a run of this plan under the predicted one."""
        view, known = self._view, self.measured.known
        if view is None or known is None:
            self.timeline.show_measured(None)
            return
        colours = places(logical_devices(view.plan, view.machine), view.machine)
        self.timeline.show_measured(measured_picture(known.timeline, colours, known.title))

    def _show_note(self, found: Forecast | None, step: StepTimeline | None) -> None:
        """Say that another way would be faster."""
        other = better(found, step) if found and step else None
        if other is None or step is None:
            self.note.say("")
            return
        change = Change(
            lambda plan: use_instead(plan, other.strategy, other.devices), label_of(other).lower()
        )
        self.note.say(
            faster_in_words(other, step),
            "warning",
            label_of(other),
            lambda: self.edited.emit(change),
        )

    def _show_problems(self) -> None:
        """Show the placement's errors, what was refused, and the result of Place for me."""
        view, picture = self._view, self._lanes_picture
        wrong = view.problems_at(PLACED) if view and picture else ()
        said = tuple(_said(each) for each in wrong if not isinstance(each, MisplacedLayers))[:3]
        self.problem.say(
            said or tuple(filter(None, (self._refused, self.times.error if picture else "")))
        )
        astray = next((each for each in wrong if isinstance(each, MisplacedLayers)), None)
        if astray is not None:
            mend = astray.mend
            change = Change(mend.make, mend.label.lower())
            self.remark.say(_astray(astray), "bad", mend.label, lambda: self.edited.emit(change))
        elif (offered := self._offered) is not None and not self.worker.busy:
            self.remark.say(
                offered.said,
                "warning",
                "Place and recompute",
                lambda: self.edited.emit(offered.offer),
            )
        else:
            self.remark.say("finding a placement…" if self.worker.busy else self._said)

    def _why_not(self) -> str:
        """Return why the layers cannot be placed now."""
        view, facts = self._view, self._reader.facts if self._reader else None
        if facts is None or facts.graph is None or not facts.graph.layers:
            return UNKNOWN_YET
        return (
            "The batch size must be 1 or more" if view and view.plan.training.batch_size < 1 else ""
        )

    # What the user asks for

    def _place(self, objective: Objective = "fastest") -> None:
        view, facts = self._view, self._reader.facts if self._reader else None
        if view is None or facts is None or facts.model is None:
            return
        self._offered = None
        keep = self.toolbar.place.keep
        times, figures = self.times.known, self.figures
        wish = Wish(view.plan, view.machine, facts.model, times, objective, keep, figures)
        self.worker.start(lambda: placed_for(wish))
        self._show_problems()

    def _placed(self, result: PlacingOutcome) -> None:
        if result.offer is not None:
            self._offered = result
        elif result.change is None:
            self._refused = result.said
        else:
            self.edited.emit(result.change)
            # After the change, because showing it clears the messages about the plan before.
            self._said = result.said
        self._show_problems()

    def _refuse(self, text: str) -> None:
        self._refused = text
        self._show_problems()
        if text:
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    def _open(self, name: str) -> None:
        self._pages.setCurrentIndex(["lanes", "graph"].index(name))

    def _connect(self) -> None:
        for part in (self.toolbar, self.line, self.grid):
            part.edited.connect(self.edited)
        self.toolbar.view_chosen.connect(self._open)
        self.toolbar.place.wanted.connect(self._place)
        self.start.button.clicked.connect(lambda: self._place())
        self.grid.refused.connect(self._refuse)
        self.grid.chosen.connect(self.graph.select)
        self.graph.chosen.connect(self.grid.select)
        self.graph.sent.connect(self.grid.send)
        self.graph.menu_asked.connect(self.grid.open_menu)
        self.times.changed.connect(self._take_times)
        self.measured.changed.connect(self._show_measured)
        self.steps.made.connect(self._show_step)
        self.steps.waiting.connect(self.timeline.wait)
        self._reading.done.connect(self._take_figures)
        self.worker.done.connect(self._placed)
        self.worker.failed.connect(self._show_problems)
        if (application := QApplication.instance()) is not None:
            application.aboutToQuit.connect(self.close_readers)

    def _lay_out(self) -> None:
        area = Scrolled()
        area.column.setContentsMargins(0, 0, GRID // 2, 0)
        area.column.addWidget(self.grid, 1)
        for below in (self.timeline, self.note, self.crossings):
            area.column.addWidget(below)
        self._pages = QStackedWidget()
        self._pages.setObjectName("plain")
        self._pages.addWidget(area)
        self._pages.addWidget(self.graph)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, GRID // 2, 0, 0)
        column.setSpacing(GRID // 2 + 2)
        for part in (self.bar, self.toolbar, self.line, self.problem, self.remark):
            column.addWidget(part)
        column.addWidget(self.start, 1)
        column.addWidget(self._pages, 1)
        # Where nothing is known about the layers, the message about it stays one line.
        column.addStretch()


def _said(problem: Problem) -> str:
    where = problem.field.removeprefix(f"{PLACED}.").replace("layers.", "layer ")
    return f"{where}: {problem.received}: {problem.advice}"


def _astray(problem: MisplacedLayers) -> str:
    name = problem.field.removeprefix(LAYERS).removeprefix(".")
    return (
        f"{f'The layer {name}' if name else 'The placement'} is "
        f"{problem.received}: {problem.advice}"
    )


@dataclass(frozen=True, slots=True)
class LayersPicture:
    """The lanes, what drops are judged by, and the forecast of a step.

    The forecast is None for a plan that has problems.
    """

    board: Board
    ground: Ground
    graph: ModelGraph
    forecast: Forecast | None


def layers_picture(
    view: PlanView,
    facts: PlanFacts | None,
    measured: Measurement | None,
    figures: MachineFigures = NO_FIGURES,
) -> LayersPicture | None:
    """What is shown of a plan under the strategy `placed`.

    None as long as its layers are not known.
    """
    if facts is None or facts.model is None or facts.graph is None or not facts.graph.layers:
        return None
    plan, machine = view.plan, view.machine
    found = None if view.problems else forecast(plan, machine, facts.model, measured, figures)
    memory = {} if view.problems else {each.device: each for each in predict(plan, machine, facts)}
    board = board_of(plan, machine, facts.graph, found.shares if found else {}, memory)
    ground = ground_of(plan, machine, facts.model, facts.graph)
    return LayersPicture(board, ground, facts.graph, found)
