"""One option of a strategy: its name, its control, and its error."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.hardware.topology import Topology
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan.strategies import Strategy, strategy_of
from gpu_studio.ui.kit.labels import Elided, Label
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.problem_line import ProblemLine


@dataclass(frozen=True, slots=True)
class StrategyAnswers:
    """The driver's answer about the links, and TensorFlow's about the plan.

    None until they come.
    """

    topology: Topology | None = None
    facts: PlanFacts | None = None

    @property
    def gradient_bytes(self) -> int:
        """The bytes of a step's gradients, one for each trained weight.

        0 until the model is known.
        """
        graph = self.facts.graph if self.facts else None
        return sum(layer.trainable_bytes for layer in graph.layers) if graph else 0


class Section(QWidget):
    """Shown only for strategies that have the option. `edited(Change)` is the user's change."""

    edited = Signal(object)

    def __init__(
        self, title: str, field: str, theme: ThemeManager, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._field = field
        self.caption = Elided(role="caption")
        self.problems = ProblemLine(theme)
        heading = QHBoxLayout()
        heading.addWidget(Label(title.upper(), "section"))
        heading.addWidget(self.caption)
        heading.addStretch(1)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(4)
        self.column.addLayout(heading)
        self.column.addWidget(self.problems)

    def show_view(self, view: PlanView, known: StrategyAnswers) -> None:
        """Show the option as the plan has it."""
        self.setVisible(self.is_used_by(strategy_of(view.plan)))
        if not self.isHidden():
            wrong = view.problems_at(self._field)
            self.problems.say(tuple(f"{each.received}: {each.advice}" for each in wrong))
            self.show_option(view, known)

    def is_used_by(self, strategy: Strategy) -> bool:
        """Whether the strategy has the option."""
        raise NotImplementedError

    def show_option(self, view: PlanView, known: StrategyAnswers) -> None:
        """Show the option's value in the plan."""
        raise NotImplementedError
