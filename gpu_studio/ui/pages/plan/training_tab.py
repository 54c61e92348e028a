"""How the plan trains: the run, the optimizer, the loss and the metrics, when to stop, what to keep."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.ui.models.plan.plan_facts import FactsReader
from gpu_studio.ui.models.plan.plan_view import PlanView
from gpu_studio.ui.pages.plan.lines import Lines
from gpu_studio.ui.pages.plan.training.keeping_form import CheckpointForm, StoppingForm
from gpu_studio.ui.pages.plan.training.metrics_form import LossForm
from gpu_studio.ui.pages.plan.training.optimizer_form import OptimizerForm
from gpu_studio.ui.pages.plan.training.run_form import RunForm
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.units import sentence
from gpu_studio.ui.widgets.scrolled import Scrolled


class TrainingTab(QWidget):
    """`edited(Change)` is what the person wants.

    The facts give the schedule's curve its number of steps, and say what Keras will not take.
    """

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._reader: FactsReader | None = None
        self.refusal = Lines()
        self.run = RunForm()
        self.optimizer = OptimizerForm(theme)
        self.loss = LossForm()
        self.stopping = StoppingForm()
        self.checkpoint = CheckpointForm()
        self._forms = (self.run, self.optimizer, self.loss, self.stopping, self.checkpoint)
        scrolled = Scrolled()
        scrolled.column.setSpacing(2 * GRID)
        scrolled.column.addWidget(self.refusal)
        self.refusal.hide()
        for form in self._forms:
            form.edited.connect(self.edited)
            scrolled.column.addWidget(form)
        scrolled.column.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(scrolled)

    def set_facts(self, reader: FactsReader) -> None:
        """Take the number of training samples, and Keras' word on all this, from this reader from now on."""
        self._reader = reader
        reader.changed.connect(self._show_facts)
        self._show_facts()

    def show_view(self, view: PlanView) -> None:
        """Show how the plan trains."""
        for form in self._forms:
            form.show_view(view)

    def _show_facts(self) -> None:
        facts = self._reader.facts if self._reader else None
        self.optimizer.show_data(facts.data if facts else None)
        error = facts.training_error if facts else ""
        advice = facts.model.advice if facts and facts.model else ()
        words = " ".join(sentence(each) for each in (error, *advice))
        self.refusal.set_lines((("Keras refuses", words, False),) if error else ())
