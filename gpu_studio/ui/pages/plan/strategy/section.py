"""One option of a strategy: its name, its control, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.hardware.topology import Topology
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.ui.models.plan.plan_view import PlanView
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.labels import Elided, Label
from gpu_studio.ui.widgets.problem_line import ProblemLine


@dataclass(frozen=True, slots=True)
class Known:
    """What the driver told of the links, and TensorFlow of the plan; None while they have not."""

    topology: Topology | None = None
    facts: PlanFacts | None = None

    @property
    def gradient_bytes(self) -> int:
        """The gradients of a step, one for each weight that is trained; 0 while the model is not known."""
        graph = self.facts.graph if self.facts else None
        return sum(layer.trainable_bytes for layer in graph.layers) if graph else 0


class Section(QWidget):
    """Shown only for the strategies that it is `used_by`. `edited(Change)` is what a person wants."""

    edited = Signal(object)
    used_by: tuple[str, ...] = ()

    def __init__(self, title: str, field: str, theme: ThemeManager, parent: QWidget | None = None) -> None:
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

    def show_view(self, view: PlanView, known: Known) -> None:
        """Show the option as the plan has it."""
        self.setVisible(view.plan.distribution.strategy in self.used_by)
        if not self.isHidden():
            wrong = view.problems_at(self._field)
            self.problems.say(tuple(f"{each.received}: {each.advice}" for each in wrong))
            self.show_option(view, known)

    def show_option(self, view: PlanView, known: Known) -> None:
        """Show what the plan says of it."""
        raise NotImplementedError
