"""What is learnt and measured: the loss and the metrics of all outputs, and of each of several."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gpu_studio.placement.plan_facts import ArrayFacts, Learnt, ModelFacts
from gpu_studio.plan import Named, OutputTraining, Plan, path_to, printable
from gpu_studio.plan.edits.change import Change, value_at
from gpu_studio.plan.edits.training import (
    add_metric,
    measure_apart,
    output_at,
    remove_metric,
    remove_output,
    set_loss,
    set_metric,
    set_output,
    set_output_loss,
)
from gpu_studio.plan.keras_objects import LOSSES, METRICS, loss_options, metric_help, metric_options
from gpu_studio.ui.kit import Button, Label
from gpu_studio.ui.kit.fields import Choice, Switch
from gpu_studio.ui.plan.facts_words import shape_in_words
from gpu_studio.ui.plan.form.form import Field, Form, FormRow, number_field
from gpu_studio.ui.plan.form.options import FreeOptions, NewOption, OptionRows
from gpu_studio.ui.plan.form.source_form import NamedRow
from gpu_studio.ui.plan.form.tab_order import follow_layout
from gpu_studio.ui.plan.plan_view import PlanView

_JUDGED = 2
"""Values that a loss or a metric takes by their places, if it is a function: y_true and y_pred."""


class LossForm(Form):
    """The loss and its options, and the metrics; likewise of each output, where there are several.

    The names of the outputs are known once the model is; until then, and where the model has no
    such output, those that the plan names are shown.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Loss and metrics", parent)
        self._view: PlanView | None = None
        self._model: ModelFacts | None = None
        field = Field(
            "training.loss.name",
            "loss",
            "what is made small",
            "auto",
            write=set_loss,
            exact=("training.loss",),
        )
        self.row = NamedRow(field, Choice("loss", ()), LOSSES, self)
        self.put_row(self.row)
        self.options = FreeOptions("training.loss.options", "loss", "training.loss", ("name",))
        self.metrics = MetricsForm()
        self.weights = OptionRows("training.class_weight", named="class {}")
        self.new_weight = NewOption(
            "training.class_weight",
            "weights of classes",
            suggested="the number of a class",
            asked=("weigh a class", "its weight, as 2.5"),
        )
        self.outputs: dict[str, OutputLossForm] = {}
        for part in (self.options, self.weights, self.new_weight, self.metrics):
            self.put(part)
        for weighing in (self.weights, self.new_weight):
            weighing.edited.disconnect(self.edited)
            weighing.edited.connect(self._weigh)

    def show_view(self, view: PlanView) -> None:
        """Show the plan's losses and metrics."""
        before, self._view = self._view, view
        if before is not None and (before.plan.model, before.plan.data) != (
            view.plan.model,
            view.plan.data,
        ):
            self._model = None
        super().show_view(view)
        self.metrics.show_view(view)
        self.weights.show_options(view)
        self.new_weight.show_options(view, ())
        _show_options(view, self.row, self.options, view.plan.training.loss.name)
        self.row.say_of_it(self.row.field.hint)
        self._show_outputs()

    def show_model(self, model: ModelFacts | None) -> None:
        """Show the outputs of this model; of None, those that were known last.

        What is known of a model is withheld while a file waits to be allowed.
        """
        self._model = model or self._model
        self._show_outputs()

    def _show_outputs(self) -> None:
        if self._view is None:
            return
        model, named = self._model, self._view.plan.training.outputs
        ends = {end.name: end for end in model.outputs} if model else {}
        learners = model.learners if model else {}
        several = list(ends) if len(ends) > 1 else []
        names = [*several, *(name for name in named if name not in several)]
        for name in [each for each in self.outputs if each not in names]:
            self._drop(name)
        before = list(self.outputs)
        self.outputs = {name: self.outputs.get(name) or self._make(name) for name in names}
        for place, (name, form) in enumerate(self.outputs.items()):
            form.show_end(ends.get(name), learners.get(name), known=model is not None)
            form.show_view(self._view)
            if before != names:
                self.column.insertWidget(self.column.indexOf(self.metrics) + 1 + place, form)
        if before != names:
            follow_layout(self)

    def _make(self, name: str) -> OutputLossForm:
        form = OutputLossForm(name)
        self.forward(form)
        return form

    def _weigh(self, change: Change) -> None:
        """Change the weight of a class beside those that are shown, which a script may have given.

        They are no longer as in the script then.
        """
        shown = {"class_weight": self._view.plan.training.class_weight} if self._view else {}
        self.edited.emit(replace(change, make=lambda plan: change.make(plan.completed(shown))))

    def _drop(self, name: str) -> None:
        form = self.outputs.pop(name)
        if form.isAncestorOf(form.focusWidget() or self):
            self.row.control.setFocus(Qt.FocusReason.OtherFocusReason)
        self.column.removeWidget(form)
        form.hide()
        form.deleteLater()


_APART = 8
_AS_ABOVE = {None: "as above", "none": "none: it learns nothing"}


class OutputLossForm(Form):
    """What the output `name` learns by, where that differs from what is said for all."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.name, self.at = name, output_at(name)
        reported_at, called = path_to("training.outputs", name), printable(name)
        self.setAccessibleName(f"output {called}")
        self.title = Label(called, "strong")
        self.facts = Label("", "caption")
        self.remove = Button("Remove", "quiet", small=True)
        self.remove.setAccessibleName(f"remove output {called}")
        self.remove.clicked.connect(self._remove)
        self._lay_out()
        of_loss = Field(
            f"{self.at}.loss",
            "loss",
            read=self._loss_of,
            write=lambda plan, chosen: set_output_loss(plan, name, chosen),
            problems=(f"{reported_at}.loss",),
        )
        choice = Choice(f"loss of {called}", (), words=_AS_ABOVE)
        self.loss = NamedRow(of_loss, choice, (*_AS_ABOVE, *LOSSES), self)
        self.put_row(self.loss)
        self.options = FreeOptions(
            f"{self.at}.loss.options", f"loss of {called}", f"{reported_at}.loss", ("name",)
        )
        self.put(self.options)
        self.weight = self._add_weight(f"{reported_at}.loss_weight")
        self.apart = self._add_switch(f"{reported_at}.metrics")
        self.metrics = MetricsForm(self.at, reported_at)
        self.put(self.metrics)

    def _add_weight(self, reported_at: str) -> FormRow:
        field = Field(
            f"{self.at}.loss_weight",
            "loss weight",
            "of its loss in the sum of all",
            OutputTraining().loss_weight,
            read=lambda plan: self._own(plan).loss_weight,
            write=lambda plan, value: set_output(plan, self.name, loss_weight=value),
            problems=(reported_at,),
        )
        return self.add(field, number_field("loss weight"))

    def _add_switch(self, reported_at: str) -> FormRow:
        field = Field(
            f"{self.at}.metrics",
            "own metrics",
            read=lambda plan: self._own(plan).metrics is not None,
            write=lambda plan, on: measure_apart(plan, self.name, on),
            problems=(reported_at,),
        )
        return self.add(field, Switch("own metrics", off="as above"))

    def show_end(self, end: ArrayFacts | None, learnt: Learnt | None, *, known: bool) -> None:
        """Say what the output gives and learns by; that there is none such, if that is `known`."""
        said = [f"{shape_in_words(end.shape)}, {end.dtype}"] if end else []
        if learnt:
            measured = f", measured by {', '.join(map(_in_words, learnt.metrics))}"
            said.append(f"learnt by {_in_words(learnt.loss)}{measured if learnt.metrics else ''}")
        self.facts.setText(
            "✘ the model has no output of this name" if known and not end else " · ".join(said)
        )
        self.facts.set_tone("bad" if known and not end else "")
        self.remove.setVisible(known and not end)

    def show_view(self, view: PlanView) -> None:
        """Show what the plan says of the output."""
        super().show_view(view)
        own = self._own(view.plan)
        _show_options(view, self.loss, self.options, own.loss.name if own.loss else "")
        self.loss.say_of_it("")
        nothing = own.loss is not None and own.loss.name == "none"
        self.weight.setVisible(not nothing)
        self.apart.setVisible(not nothing)
        self.metrics.setVisible(own.metrics is not None and not nothing)
        if own.metrics is not None:
            self.metrics.show_view(view)

    def _own(self, plan: Plan) -> OutputTraining:
        return plan.training.outputs.get(self.name, OutputTraining())

    def _loss_of(self, plan: Plan) -> str | None:
        own = self._own(plan).loss
        return own.name if own else None

    def _remove(self) -> None:
        edit = partial(remove_output, name=self.name)
        self.edited.emit(Change(edit, f"remove output {printable(self.name)}"))

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setContentsMargins(0, _APART, 0, 0)
        row.addWidget(self.title)
        row.addWidget(self.facts, 1)
        row.addWidget(self.remove)
        self.column.addLayout(row)


def _in_words(name: str) -> str:
    return name.replace("_", " ")


def _show_options(view: PlanView, row: NamedRow, options: FreeOptions, name: str) -> None:
    """Show the options of a loss or a metric, Keras' or the user's own."""
    own = row.function
    suggested = metric_options(name) if "metric" in row.field.label else loss_options(name)
    if not row.names_own:
        options.show_options(view, suggested)
    elif own is None or own.takes_more:
        options.show_options(view, (), own.options_besides((), _JUDGED) if own else (), more=True)
    else:
        options.show_options(view, (), own.options_besides((), _JUDGED))


class MetricForm(Form):
    """The metric at one place among those at the path `at`, with a button that removes it.

    Their problems are reported at the path `reported_at`.
    """

    def __init__(
        self, index: int, at: str, reported_at: str, parent: QWidget | None = None
    ) -> None:
        super().__init__("", parent)
        self.index, self._at = index, at
        self._path, name = f"{at}.metrics[{index}]", f"metric {index + 1}"
        problems = f"{reported_at}.metrics[{index}]"
        field = Field(
            f"{self._path}.name",
            name,
            write=lambda plan, chosen: set_metric(plan, index, chosen, at),
            problems=(f"{problems}.name",),
            exact=(problems,),
        )
        tips = {each: tip for each in METRICS if (tip := metric_help(each))}
        self.row = NamedRow(field, Choice(name, (), tips=tips), METRICS, self)
        self.put_row(self.row)
        remove = Button("Remove", "quiet", small=True)
        remove.setAccessibleName(f"remove {name}")
        remove.clicked.connect(self._remove)
        self.row.line.addWidget(remove)
        self.options = FreeOptions(f"{self._path}.options", name, problems, ("name",))
        self.put(self.options)

    def show_view(self, view: PlanView) -> None:
        """Show the metric, which the plan must have."""
        super().show_view(view)
        name = value_at(view.plan, f"{self._path}.name")
        self.row.say_of_it(metric_help(name))
        _show_options(view, self.row, self.options, name)

    def _remove(self) -> None:
        edit = partial(remove_metric, index=self.index, at=self._at)
        self.edited.emit(Change(edit, f"remove metric {self.index + 1}"))


class MetricsForm(Form):
    """One form for each metric at the path `at`, and a button that adds one.

    Their problems are reported at the path `reported_at`.
    """

    def __init__(
        self, at: str = "training", reported_at: str = "training", parent: QWidget | None = None
    ) -> None:
        super().__init__("", parent)
        self._at, self._reported_at = at, reported_at
        self.metrics: list[MetricForm] = []
        self.add_button = Button("Add metric", small=True)
        adding = Change(partial(add_metric, at=at), "add metric")
        self.add_button.clicked.connect(lambda: self.edited.emit(adding))
        row = QHBoxLayout()
        row.addWidget(self.add_button)
        row.addStretch(1)
        self.column.addLayout(row)

    def show_view(self, view: PlanView) -> None:
        """Show the plan's metrics."""
        chosen: tuple[Named, ...] = value_at(view.plan, f"{self._at}.metrics") or ()
        count = len(chosen)
        while len(self.metrics) < count:
            self._append()
        while len(self.metrics) > count:
            self._drop()
        for form in self.metrics:
            form.show_view(view)

    def _append(self) -> None:
        form = MetricForm(len(self.metrics), self._at, self._reported_at, self)
        self.forward(form)
        self.column.insertWidget(len(self.metrics), form)
        self.metrics.append(form)
        follow_layout(self)

    def _drop(self) -> None:
        form = self.metrics.pop()
        if form.isAncestorOf(form.focusWidget() or self):
            self.add_button.setFocus(Qt.FocusReason.OtherFocusReason)
        self.column.removeWidget(form)
        form.hide()
        form.deleteLater()
