"""The loss, and the metrics one below the other."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.training import add_metric, remove_metric, set_loss, set_metric
from gpu_studio.plan.keras_names import LOSSES, METRICS
from gpu_studio.plan.keras_options import loss_options, metric_help, metric_options
from gpu_studio.ui.kit.button import Button
from gpu_studio.ui.kit.fields import Choice
from gpu_studio.ui.plan.form.field import Field
from gpu_studio.ui.plan.form.form import Form
from gpu_studio.ui.plan.form.row import NAME
from gpu_studio.ui.plan.form.tab_order import follow_layout
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.training.free_options import FreeOptions


class LossForm(Form):
    """The loss and its options, and the metrics."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Loss and metrics", parent)
        field = Field(
            "training.loss.name",
            "loss",
            "what is made small",
            "auto",
            write=set_loss,
            exact=("training.loss",),
        )
        self.add(field, Choice("loss", LOSSES), width=NAME)
        self.options = FreeOptions("training.loss.options", "loss", "training.loss", ("name",))
        self.metrics = MetricsForm()
        self.put(self.options)
        self.put(self.metrics)

    def show_view(self, view: PlanView) -> None:
        """Show the plan's loss and metrics."""
        super().show_view(view)
        self.metrics.show_view(view)
        self.options.show_options(view, loss_options(view.plan.training.loss.name))


class MetricForm(Form):
    """The metric at one place among the plan's, with a button that removes it."""

    def __init__(self, index: int, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.index = index
        path, name = f"training.metrics[{index}]", f"metric {index + 1}"
        field = Field(
            f"{path}.name",
            name,
            write=lambda plan, chosen: set_metric(plan, index, chosen),
            exact=(path,),
        )
        tips = {each: tip for each in METRICS if (tip := metric_help(each))}
        self.row = self.add(field, Choice(name, METRICS, tips=tips), width=NAME)
        remove = Button("Remove", "quiet", small=True)
        remove.setAccessibleName(f"remove {name}")
        remove.clicked.connect(self._remove)
        self.row.line.addWidget(remove)
        self.options = FreeOptions(f"{path}.options", name, path, ("name",))
        self.put(self.options)

    def show_view(self, view: PlanView) -> None:
        """Show the metric, which the plan must have."""
        super().show_view(view)
        name = view.plan.training.metrics[self.index].name
        self.row.hint.setText(metric_help(name))
        self.options.show_options(view, metric_options(name))

    def _remove(self) -> None:
        self.edited.emit(
            Change(partial(remove_metric, index=self.index), f"remove metric {self.index + 1}")
        )


class MetricsForm(Form):
    """One form for each metric of the plan, and a button that adds one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.metrics: list[MetricForm] = []
        self.add_button = Button("Add metric", small=True)
        self.add_button.clicked.connect(lambda: self.edited.emit(Change(add_metric, "add metric")))
        row = QHBoxLayout()
        row.addWidget(self.add_button)
        row.addStretch(1)
        self.column.addLayout(row)

    def show_view(self, view: PlanView) -> None:
        """Show the plan's metrics."""
        count = len(view.plan.training.metrics)
        while len(self.metrics) < count:
            self._append()
        while len(self.metrics) > count:
            self._drop()
        for form in self.metrics:
            form.show_view(view)

    def _append(self) -> None:
        form = MetricForm(len(self.metrics))
        form.edited.connect(self.edited)
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
