"""When a run stops before its last epoch, and which checkpoints it writes and keeps."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from gpu_studio.plan import Checkpoint, EarlyStopping
from gpu_studio.plan.limits import CHECKPOINT_LIMITS, EARLY_STOPPING_LIMITS
from gpu_studio.plan.rules.training_rules import measured
from gpu_studio.ui.models.plan.edits.training import stop_early
from gpu_studio.ui.models.plan.plan_view import PlanView
from gpu_studio.ui.pages.plan.form.field import Field
from gpu_studio.ui.pages.plan.form.form import Form
from gpu_studio.ui.widgets.fields import Choice, Switch

_STOPPING, _CHECKPOINT = "training.early_stopping", "training.checkpoint"
_ZERO = {"every_epochs": "; 0: none at the end of an epoch", "every_steps": "; 0: none in mid-epoch"}


class StoppingForm(Form):
    """Early stopping: on or off, and while it is on, by what."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Early stopping", parent)
        on = Field(
            f"{_STOPPING}.on",
            "stop early",
            "ends the run when it gets no better",
            read=lambda plan: plan.training.early_stopping is not None,
            write=stop_early,
        )
        self.add(on, Switch("stop early"))
        self.details = Form()
        self.monitor = Choice("what early stopping watches", ())
        self.details.add(
            Field(f"{_STOPPING}.monitor", "watches", "what has to improve", EarlyStopping().monitor), self.monitor
        )
        for limit in EARLY_STOPPING_LIMITS:
            self.details.add_limited(f"{_STOPPING}.{limit.name}", limit)
        best = Field(
            f"{_STOPPING}.restore_best", "restore best", "ends with the best weights", EarlyStopping().restore_best
        )
        self.details.add(best, Switch("restore best"))
        self.put(self.details)

    def show_view(self, view: PlanView) -> None:
        """Show whether and by what the plan stops early."""
        super().show_view(view)
        on = view.plan.training.early_stopping is not None
        if on:
            self.monitor.set_names(measured(view.plan))
            self.details.show_view(view)
        self.details.setVisible(on)


class CheckpointForm(Form):
    """When checkpoints are written, how many are kept, and by what the best one is told."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Checkpoints", parent)
        for limit in CHECKPOINT_LIMITS:
            row = self.add_limited(f"{_CHECKPOINT}.{limit.name}", limit)
            row.hint.setText(f"{limit.help}{_ZERO.get(limit.name, '')} · default {limit.default}")
        self.monitor = Choice("what tells the best checkpoint", ())
        field = Field(f"{_CHECKPOINT}.monitor", "the best by", "the best one is kept too", Checkpoint().monitor)
        self.add(field, self.monitor)

    def show_view(self, view: PlanView) -> None:
        """Show the plan's checkpoints."""
        self.monitor.set_names(measured(view.plan))
        super().show_view(view)
