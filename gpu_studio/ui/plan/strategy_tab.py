"""The Strategy tab: the chosen strategy as a drawing and in words, and its options."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QVBoxLayout, QWidget

from gpu_studio.hardware.topology import Topology
from gpu_studio.plan import Strategy, strategy_of
from gpu_studio.plan.strategies import BY_NAME
from gpu_studio.ui.kit import GRID, Label, Paragraph, Scrolled, ThemeManager, WhenSeen
from gpu_studio.ui.plan.cluster_section import ClusterOptions
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.plan.plan_view import PlanView, ProblemLine
from gpu_studio.ui.plan.strategy_drawing import drawing_of
from gpu_studio.ui.plan.strategy_picture import StrategyPicture
from gpu_studio.ui.plan.strategy_sections import (
    AllReduce,
    OneDevice,
    ParameterDevice,
    PlacedOptions,
    ReplicaDevices,
    Section,
    StrategyAnswers,
)

SIDE_BY_SIDE = 660
"""From this width on the options stand beside the drawing, else over it.

They are what a person comes for.
"""
BESIDE_PICTURE, BESIDE_OPTIONS = ("pace", "variables", "gradients", "batches"), ("when", "costs")
HEADINGS = {"pace": "", "when": "when to use it", "costs": "what it costs"}


class StrategyTab(QWidget):
    """`edited(Change)` is the user's change.

    `set_facts` and `set_topology` bring what others know.
    """

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._topology: Topology | None = None
        self._reader: FactsReader | None = None
        self._view: PlanView | None = None
        self.title, self.line = Label(role="strong"), Paragraph(role="muted")
        self.refusal = ProblemLine(theme)
        self.picture = StrategyPicture(theme)
        self.words = {
            name: _Words(HEADINGS.get(name, name)) for name in (*BESIDE_PICTURE, *BESIDE_OPTIONS)
        }
        self.replicas, self.one = ReplicaDevices(theme), OneDevice(theme)
        self.parameters, self.all_reduce, self.placed = (
            ParameterDevice(theme),
            AllReduce(theme),
            PlacedOptions(theme),
        )
        self.cluster = ClusterOptions(theme)
        self.sections: tuple[Section, ...] = (
            self.cluster,
            self.one,
            self.replicas,
            self.parameters,
            self.all_reduce,
            self.placed,
        )
        for section in self.sections:
            section.edited.connect(self.edited)
        self._seen = WhenSeen(self, self._show_options)
        self._lay_out()

    def show_view(self, view: PlanView) -> None:
        """Show the plan's strategy."""
        self._view = view
        strategy = strategy_of(view.plan)
        self.title.setText(strategy.title)
        self.line.setText(strategy.line)
        self.refusal.say((), strategy.why_not)
        self.picture.setVisible(strategy.name in BY_NAME)
        self.picture.show_drawing(drawing_of(view.plan, view.machine))
        for part, words in self.words.items():
            words.say(_said(strategy, part))
        self._seen.now()

    def set_facts(self, reader: FactsReader) -> None:
        """Follow what TensorFlow says about the plan."""
        self._reader = reader
        reader.changed.connect(self._seen.want)

    def set_topology(self, topology: Topology | None) -> None:
        """Show how the cards are connected, as far as the driver has said."""
        self._topology = topology
        self._seen.want()

    def _show_options(self) -> None:
        if self._view is not None:
            known = StrategyAnswers(self._topology, self._reader.facts if self._reader else None)
            for section in self.sections:
                section.show_view(self._view, known)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Put the options beside the drawing if there is space."""
        super().resizeEvent(event)
        wide = event.size().width() >= SIDE_BY_SIDE
        self._halves.setDirection(
            QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.BottomToTop
        )

    def _lay_out(self) -> None:
        area = Scrolled()
        left, right = QVBoxLayout(), QVBoxLayout()
        for half in (left, right):
            half.setSpacing(GRID)
        for widget in (self.picture, *(self.words[name] for name in BESIDE_PICTURE)):
            left.addWidget(widget)
        for widget in (*self.sections, *(self.words[name] for name in BESIDE_OPTIONS)):
            right.addWidget(widget)
        for half in (left, right):
            half.addStretch(1)
        self._halves = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._halves.setSpacing(2 * GRID)
        self._halves.addLayout(left, 1)
        self._halves.addLayout(right, 1)
        for widget in (self.title, self.line, self.refusal):
            area.column.addWidget(widget)
        area.column.addLayout(self._halves, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(area)


class _Words(QWidget):
    """A heading and sentences below it."""

    def __init__(self, heading: str) -> None:
        super().__init__()
        self._text = Paragraph()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        if heading:
            column.addWidget(Label(heading, "caption"))
        column.addWidget(self._text)

    def say(self, text: str) -> None:
        """Show these sentences; hide without any."""
        self._text.setText(text)
        self.setVisible(bool(text))


def _said(strategy: Strategy, part: str) -> str:
    text: str = strategy.pace_words if part == "pace" else getattr(strategy, part)
    return f"{text[0].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" if text else ""
