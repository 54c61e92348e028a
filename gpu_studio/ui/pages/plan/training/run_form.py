"""How long a run is, and how its samples are cut into batches."""

from __future__ import annotations

from collections import Counter

from PySide6.QtWidgets import QWidget

from gpu_studio.plan import Training, replica_count, replicas, shares_of
from gpu_studio.plan.limits import TRAINING_LIMITS
from gpu_studio.ui.models.plan.plan_view import PlanView
from gpu_studio.ui.pages.plan.form.field import Field
from gpu_studio.ui.pages.plan.form.form import Form
from gpu_studio.ui.pages.plan.lines import Lines
from gpu_studio.ui.units import number, plural
from gpu_studio.ui.widgets.fields import Choice, Switch

_LIMITS = {limit.name: limit for limit in TRAINING_LIMITS}
_SCOPES = {"global": "over all replicas", "replica": "for each replica"}


class RunForm(Form):
    """Epochs, batch, seed, precision, and the steps of one call."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("The run", parent)
        self.add_limited("training.epochs", _LIMITS["epochs"])
        self.add_limited("training.batch_size", _LIMITS["batch_size"])
        scope = Field("training.batch_scope", "batch is meant", "what the batch size counts", Training().batch_scope)
        self.add(scope, Choice("batch is meant", list(_SCOPES), words=_SCOPES))
        self.shares = Lines()
        self.put(self.shares)
        self.add_limited("training.seed", _LIMITS["seed"])
        precision = Field(
            "training.mixed_precision",
            "mixed precision",
            "computes in 16 bits where the device is fast at it, and keeps the weights in 32",
            Training().mixed_precision,
        )
        self.add(precision, Switch("mixed precision"))
        self.add_limited("training.steps_per_call", _LIMITS["steps_per_call"], "steps a call")

    def show_view(self, view: PlanView) -> None:
        """Show the plan, and what each replica gets of a batch."""
        super().show_view(view)
        self.shares.set_lines((("each replica", shares_in_words(view)),))


def shares_in_words(view: PlanView) -> str:
    """`64 samples each on GPU:0, GPU:1`, or how many replicas get how many where they differ."""
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
    return ", ".join(f"{plural(share, 'sample')} on {number(count)} of them" for share, count in counted)


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{names[0]} … {names[-1]}"
