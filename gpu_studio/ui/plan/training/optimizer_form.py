"""The optimizer, its options, and the learning rate over the run."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from gpu_studio.placement.data_facts import DataFacts
from gpu_studio.plan.catalogue import OPTIMIZERS, SCHEDULES
from gpu_studio.plan.edits.training import set_optimizer, set_schedule
from gpu_studio.plan.keras_options import optimizer_options
from gpu_studio.plan.limits import TRAINING_LIMITS
from gpu_studio.plan.schedules import Length, rate_of
from gpu_studio.plan.values import Plan, Training
from gpu_studio.ui.kit.fields import Choice, PositiveNumber
from gpu_studio.ui.kit.labels import Paragraph
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.plan.data_words import batches
from gpu_studio.ui.plan.form.field import Field
from gpu_studio.ui.plan.form.form import Form
from gpu_studio.ui.plan.form.option_rows import OptionRows
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.rate_curve import RateCurve
from gpu_studio.ui.plan.training.free_options import FreeOptions

_RATE = next(limit for limit in TRAINING_LIMITS if limit.name == "learning_rate")
_NO_SCHEDULE = "none: it stays as it is"


class OptimizerForm(Form):
    """The curve needs the number of training samples.

    `data` of `show_data` has it; None as long as it is unknown.
    """

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("Optimizer", parent)
        self._data: DataFacts | None = None
        self._view: PlanView | None = None
        optimizer = Field(
            "training.optimizer",
            "optimizer",
            "by Keras' name",
            Training().optimizer,
            write=set_optimizer,
            exact=("training.options",),
        )
        self.add(optimizer, Choice("optimizer", OPTIMIZERS))
        self.options = FreeOptions("training.options", "optimizer", reserved=("learning_rate",))
        self.put(self.options)
        rate = Field("training.learning_rate", "learning rate", _RATE.help, _RATE.default)
        self.add(rate, PositiveNumber("learning rate"))
        self._add_schedule(theme)

    def show_view(self, view: PlanView) -> None:
        """Show the plan's optimizer and schedule."""
        super().show_view(view)
        self._view = view
        self.options.show_options(view, optimizer_options(view.plan.training.optimizer))
        schedule = view.plan.training.schedule
        entry = SCHEDULES.get(schedule.name) if schedule else None
        self.schedule_row.hint.setText(entry.help if entry else "")
        self.schedule.show_options(view, entry.options if entry else ())
        self._show_curve()

    def show_data(self, data: DataFacts | None) -> None:
        """Set the data that determine the steps of a run."""
        self._data = data
        self._show_curve()

    def _add_schedule(self, theme: ThemeManager) -> None:
        field = Field(
            "training.schedule",
            "schedule",
            read=_schedule_name,
            write=set_schedule,
            problems=("training.schedule.name",),
            exact=("training.schedule",),
        )
        tips = {name: entry.help for name, entry in SCHEDULES.items()}
        choice = Choice(
            "learning-rate schedule", [None, *SCHEDULES], tips=tips, words={None: _NO_SCHEDULE}
        )
        self.schedule_row = self.add(field, choice)
        self.schedule = OptionRows("training.schedule.options", "training.schedule")
        self.curve = RateCurve(theme)
        self.no_curve = Paragraph("", "caption")
        for part in (self.schedule, self.curve, self.no_curve):
            self.put(part)

    def _show_curve(self) -> None:
        if self._view is None:
            return
        why = self._why_no_curve(self._view)
        self.curve.setVisible(not why)
        self.no_curve.setVisible(bool(why))
        if self.no_curve.text() != why:
            self.no_curve.setText(why)

    def _why_no_curve(self, view: PlanView) -> str:
        """Draw the curve, or say why there is none."""
        training = view.plan.training
        if training.schedule is None:
            return " "
        if self._data is None:
            return "The curve is drawn once the number of training samples is known."
        cut = batches(view.plan, view.machine, self._data)
        length = Length(cut.count, cut.count * max(1, training.epochs))
        try:
            rate = rate_of(training, length)
            self.curve.show_rate(
                (_key(training), length), rate, length.steps_per_epoch, length.total_steps
            )
        except (ValueError, ArithmeticError) as error:
            return str(error)
        return ""


def _schedule_name(plan: Plan) -> str | None:
    return plan.training.schedule.name if plan.training.schedule else None


def _key(training: Training) -> tuple[float, str]:
    return training.learning_rate, repr(training.schedule)
