"""The loss of a plan: one number per sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras

from gpu_studio.plan.keras_names import LOSSES, LOSSES_OF
from gpu_studio.plan.values import Named, Training
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.keras_objects.named import construct, fitting, keras_class, parameters
from gpu_studio.trainer.keras_objects.tasks import OutputForm, Wants

_ONE_HOT = Wants(one_hot=True)
# The losses that want something else than class ids and logits, or values.
WANTS: dict[str, Wants] = {
    "categorical_crossentropy": _ONE_HOT,
    "categorical_focal_crossentropy": _ONE_HOT,
    "categorical_generalized_cross_entropy": Wants(probabilities=True),
    "categorical_hinge": _ONE_HOT,
    "kl_divergence": Wants(one_hot=True, probabilities=True),
    "binary_crossentropy": _ONE_HOT,
    "binary_focal_crossentropy": _ONE_HOT,
    "hinge": _ONE_HOT,
    "squared_hinge": _ONE_HOT,
}


@dataclass(frozen=True, slots=True)
class SampleLoss:
    """A Keras loss that accepts the data's targets and the model's outputs as they are.

    `name` is the plan's name for it, never "auto".
    """

    name: str
    keras_loss: Any
    form: OutputForm
    wants: Wants

    def __call__(self, targets: Any, outputs: Any) -> Any:
        """The loss of each sample, float32 (batch,), from targets (batch,) or (batch, 1) and
        outputs (batch, units).
        """
        labels = self.form.labels(self.wants, targets)
        return self.keras_loss(labels, self.form.predictions(self.wants, outputs))


def make_loss(training: Training, dataset: Dataset, form: OutputForm) -> SampleLoss:
    """The loss of a plan for these data.

    "auto" is cross-entropy for classes and the squared error for values.

    Class ids become one-hot labels and logits become probabilities where the loss wants them;
    `from_logits` is what the model ends in by their `form`, unless the plan says otherwise. Raises
    PlanRefused for a loss that does not fit the data's task, and for unknown options or wrong
    values.
    """
    name = _name(training.loss, dataset)
    factory = keras_class(keras.losses, name)
    logits = {"from_logits": form.logits} if "from_logits" in parameters(factory) else {}
    options = {**logits, **training.loss.options}
    keras_loss = construct("training.loss.options", name, factory, options, {"reduction": None})
    return SampleLoss(name, keras_loss, form, WANTS.get(name, Wants()))


def _name(loss: Named, dataset: Dataset) -> str:
    names = LOSSES_OF[dataset.task]
    return (
        names[0]
        if loss.name == "auto"
        else fitting("training.loss.name", loss.name, names, LOSSES, dataset)
    )
