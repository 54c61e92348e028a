"""The Training tab.

It covers the run, the optimizer, loss and metrics, later phases, when to stop, what to keep, and
callbacks.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.common.figures import grouped, plural
from gpu_studio.plan import (
    CheckpointSettings,
    EarlyStopping,
    Training,
    replica_count,
    replicas,
    shares_of,
)
from gpu_studio.plan.edits.sources import function_part
from gpu_studio.plan.edits.training import leave_to_script, stop_early
from gpu_studio.plan.options import CHECKPOINT_LIMITS, EARLY_STOPPING_LIMITS, TRAINING_LIMITS
from gpu_studio.plan.rules.training_rules import measured
from gpu_studio.plan.script_calls import number_of
from gpu_studio.plan.scripts import OF_PLANS
from gpu_studio.ui.kit import GRID, Scrolled, ThemeManager, WhenSeen, sentence
from gpu_studio.ui.kit.fields import Choice, Switch, Typed
from gpu_studio.ui.kit.fields.typed import read_names, write_names
from gpu_studio.ui.plan.callbacks_form import CallbacksForm
from gpu_studio.ui.plan.form.form import FactLines, Field, Form, FormRow
from gpu_studio.ui.plan.loss_form import LossForm
from gpu_studio.ui.plan.optimizer_form import OptimizerForm
from gpu_studio.ui.plan.phases_form import PhasesForm
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.plan.plan_view import AS_DATA_COME, AS_IN_SCRIPT, PlanView

_STOPPING, _CHECKPOINT = "training.early_stopping", "training.checkpoint"
_ZERO = {
    "every_epochs": "; 0: none at the end of an epoch",
    "every_steps": "; 0: none in mid-epoch",
}


class StoppingForm(Form):
    """Early stopping: on or off and, while it is on, its rule."""

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
        self.details = Form(parent=self)
        self.monitor = Choice("what early stopping watches", ())
        self.details.add(
            Field(
                f"{_STOPPING}.monitor", "watches", "what has to improve", EarlyStopping().monitor
            ),
            self.monitor,
        )
        for limit in EARLY_STOPPING_LIMITS:
            self.details.add_limited(f"{_STOPPING}.{limit.name}", limit)
        best = Field(
            f"{_STOPPING}.restore_best",
            "restore best",
            "ends with the best weights",
            EarlyStopping().restore_best,
        )
        self.details.add(best, Switch("restore best"))
        self.put(self.details)

    def show_view(self, view: PlanView) -> None:
        """Show whether the plan stops early, and by which rule."""
        super().show_view(view)
        on = view.plan.training.early_stopping is not None
        if on:
            self.monitor.set_names(measured(view.plan))
            self.details.show_view(view)
        self.details.setVisible(on)


class CheckpointForm(Form):
    """When checkpoints are written, how many are kept, and how the best one is chosen."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Checkpoints", parent)
        for limit in CHECKPOINT_LIMITS:
            row = self.add_limited(f"{_CHECKPOINT}.{limit.name}", limit)
            row.hint.setText(f"{limit.help}{_ZERO.get(limit.name, '')} · default {limit.default}")
        self.monitor = Choice("what tells the best checkpoint", ())
        field = Field(
            f"{_CHECKPOINT}.monitor",
            "the best by",
            "the best one is kept too",
            CheckpointSettings().monitor,
        )
        self.add(field, self.monitor)

    def show_view(self, view: PlanView) -> None:
        """Show the plan's checkpoints."""
        self.monitor.set_names(measured(view.plan))
        super().show_view(view)


_LIMITS = {limit.name: limit for limit in TRAINING_LIMITS}
_BY_XLA: dict[str | bool | None, str] = {"auto": "auto", True: "on", False: "off"}
_SCOPES = {"global": "over all replicas", "replica": "for each replica"}


_STEPS = {
    "steps_per_call": "steps a call",
    "steps_per_epoch": "steps an epoch",
    "validation_steps": "validation steps",
    "validation_freq": "validate every",
    "initial_epoch": "epochs before",
}


class RunForm(Form):
    """Epochs, batch, seed, precision, and the steps per call."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("The run", parent)
        self.add_limited("training.epochs", _LIMITS["epochs"])
        self.add_limited("training.batch_size", _LIMITS["batch_size"])
        scope = Field(
            "training.batch_scope",
            "batch is meant",
            "what the batch size counts",
            Training().batch_scope,
        )
        self.add(scope, Choice("batch is meant", list(_SCOPES), words=_SCOPES))
        self.shares = FactLines()
        self.put(self.shares)
        self._add_switch(
            "shuffle", "shuffle", "another order of the samples in each epoch; off: as they come"
        )
        self.add_limited("training.seed", _LIMITS["seed"])
        self._add_switch(
            "mixed_precision",
            "mixed precision",
            "computes in 16 bits where the device is fast at it, and keeps the weights in 32",
        )
        self._add_switch(
            "tf32",
            "TF32",
            "float32 products on cards since Ampere: faster, and each differs by about a "
            "thousandth; off: a CPU's losses, but for rounding",
        )
        by_xla = Field(
            "training.jit_compile",
            "XLA",
            "compiles each training step, on one device; auto: on a card, as fit does",
            Training().jit_compile,
        )
        self.add(by_xla, Choice("XLA", list(_BY_XLA), words=_BY_XLA))
        for name, words in _STEPS.items():
            self.add_limited(f"training.{name}", _LIMITS[name], words)
        self.left = self._add_left_to_script()

    def _add_left_to_script(self) -> FormRow:
        left = Field(
            "training.as_in_script",
            AS_IN_SCRIPT,
            f"which of {', '.join(OF_PLANS)} are as the script gives them to fit",
            write=leave_to_script,
        )
        return self.add(left, Typed(AS_IN_SCRIPT, read_names, write_names), wide=True)

    def _add_switch(self, name: str, label: str, hint: str) -> None:
        field = Field(f"training.{name}", label, hint, getattr(Training(), name))
        self.add(field, Switch(label))

    def show_view(self, view: PlanView) -> None:
        """Show the plan, and each replica's part of a batch."""
        super().show_view(view)
        for name in ("batch_size", "batch_scope"):
            row = self.rows[f"training.{name}"]
            row.control.setEnabled(not view.of_data)
            row.hint.setText(f"{AS_DATA_COME} · " * view.of_data + row.field.hint)
            if view.of_data:
                row.back.hide()
        self.shares.set_lines((("each replica", shares_in_words(view)),))
        self.left.control.show_value(list(view.of_script))
        by_script = number_of(function_part(view.plan, "data.python"))
        self.left.setVisible(bool(view.of_script) or by_script > 0)


def shares_in_words(view: PlanView) -> str:
    """Return `64 samples each on GPU:0, GPU:1`.

    If the shares differ, it says how many replicas get how many.
    """
    names = replicas(view.plan, view.machine)
    shares = shares_of(view.plan, replica_count(view.plan, view.machine))
    if not shares:
        return "there is none"
    if len(set(shares)) == 1:
        each = plural(shares[0], "sample")
        if len(shares) < len(names):
            return f"{each}, through the layers on {_few(names)}"
        return f"{each} on {names[0]}" if len(names) == 1 else f"{each} on each of {_few(names)}"
    counted = sorted(Counter(shares).items(), reverse=True)
    return ", ".join(
        f"{plural(share, 'sample')} on {grouped(count)} of them" for share, count in counted
    )


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{names[0]} … {names[-1]}"


class TrainingTab(QWidget):
    """`edited(Change)` is the user's change.

    The facts give the schedule's curve its number of steps, and say what Keras will refuse.
    """

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._reader: FactsReader | None = None
        column, scrolled = QVBoxLayout(self), Scrolled(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(scrolled)
        scrolled.column.setSpacing(2 * GRID)
        # Each is made where it stays: what is moved is polished anew by Qt, with all that is in it.
        inside = scrolled.column.parentWidget()
        self.refusal = FactLines(inside)
        self.run = RunForm(inside)
        self.optimizer = OptimizerForm(theme, inside)
        self.loss = LossForm(inside)
        self.stopping = StoppingForm(inside)
        self.checkpoint = CheckpointForm(inside)
        self.callbacks = CallbacksForm(parent=inside)
        self.phases = PhasesForm(theme, inside)
        self._forms = (
            *(self.run, self.optimizer, self.loss, self.phases),
            *(self.stopping, self.checkpoint, self.callbacks),
        )
        scrolled.column.addWidget(self.refusal)
        self.refusal.hide()
        for form in self._forms:
            form.edited.connect(self.edited)
            form.allow_wanted.connect(self._want_consent)
            scrolled.column.addWidget(form)
        scrolled.column.addStretch(1)

    def set_facts(self, reader: FactsReader) -> None:
        """Take the number of training samples and Keras' verdict from this reader from now on."""
        self._reader = reader
        seen = WhenSeen(self, self._show_facts)
        reader.changed.connect(seen.want)
        seen.want()

    def show_view(self, view: PlanView) -> None:
        """Show how the plan trains."""
        for form in self._forms:
            form.show_view(view)

    def _want_consent(self, path: Path) -> None:
        if self._reader is not None:
            self._reader.consent_wanted.emit(path)

    def _show_facts(self) -> None:
        facts = self._reader.facts if self._reader else None
        self.optimizer.show_data(facts.data if facts else None)
        if self._reader is not None:
            self.phases.show_facts(self._reader)
        past = self._reader.past.model if self._reader else None
        known = (facts.model if facts else None, past)
        self.loss.show_model(next((each for each in known if each and each.outputs), None))
        error = facts.training_error if facts else ""
        advice = facts.model.advice if facts and facts.model else ()
        words = " ".join(sentence(each) for each in (error, *advice))
        self.refusal.set_lines((("Keras refuses", words, False),) if error else ())
