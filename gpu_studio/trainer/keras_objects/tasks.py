"""How losses and metrics take targets and outputs, and how these are converted for them.

Targets are class ids or values; outputs are logits unless the model itself ends in a softmax or
sigmoid. Keras' losses and metrics differ in what they take: ids or one-hot labels, logits (by an
option) or probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.sole_output import sole_output

_FEW = 8
_NEAR = 1e-2
"""Shares in half precision add up to 1 only so nearly."""


@dataclass(frozen=True, slots=True)
class Wants:
    """What a Keras class takes: `one_hot` labels instead of ids; `probabilities` instead of scores.

    Where there are two classes, it may want the column of `class_1` alone.
    """

    one_hot: bool = False
    probabilities: bool = False
    class_1: bool = False


@dataclass(frozen=True, slots=True)
class OutputForm:
    """What the data and the model give a loss or metric.

    `classes` is None for values; `logits` says whether the model's outputs are logits.
    """

    classes: int | None
    logits: bool

    @classmethod
    def of(cls, dataset: Dataset, model: keras.Model) -> OutputForm:
        """Return it for these data and this model."""
        return cls(dataset.classes, ends_in_logits(model, dataset))

    def labels(self, wants: Wants, targets: Any) -> Any:
        """Convert targets as wanted.

        Class ids (batch,), one-hot (batch, classes), or values (batch, 1).
        """
        if not wants.one_hot:
            return targets
        return self._columns(wants, keras.ops.one_hot(targets, self.classes, dtype="float32"))

    def predictions(self, wants: Wants, outputs: Any) -> Any:
        """Convert outputs to float32, and to probabilities by a softmax if wanted."""
        outputs = keras.ops.cast(outputs, "float32")
        return self._columns(
            wants, keras.ops.softmax(outputs) if wants.probabilities and self.logits else outputs
        )

    def _columns(self, wants: Wants, of_all: Any) -> Any:
        return of_all[:, 1:2] if wants.class_1 and self.classes == 2 else of_all


def ends_in_logits(model: keras.Model, dataset: Dataset) -> bool:
    """Return whether the model's outputs are unbounded scores.

    False if its last layer is, or has, a softmax or sigmoid. Any other last layer may pass on or
    mix the result of a softmax, as the mean of two heads does: then the model's outputs for a few
    samples decide.
    """
    # Keras' only record of which layer made a tensor.
    last = model.outputs[0]._keras_history.operation  # noqa: SLF001
    activation = getattr(getattr(last, "activation", None), "__name__", "")
    if type(last).__name__ in {"Softmax", "Sigmoid"} or activation in {"softmax", "sigmoid"}:
        return False
    return dataset.classes is None or not _are_shares(model, dataset)


def _are_shares(model: keras.Model, dataset: Dataset) -> bool:
    # A model may be built for a single batch size.
    rows = np.arange(model.inputs[0].shape[0] or _FEW) % len(dataset.train)
    with (
        keras.StatelessScope()
    ):  # this trial call leaves the model's random states and statistics unchanged
        outputs = sole_output(model(dataset.train.seen(rows), training=False))
    given = np.asarray(keras.ops.convert_to_numpy(outputs), np.float64)
    return bool(np.all(given >= 0) and np.allclose(given.sum(axis=-1), 1, atol=_NEAR))
