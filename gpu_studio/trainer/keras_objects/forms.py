"""What the data and the model give a loss or a metric, converted as each wants it.

Outputs are logits unless the model itself ends in a softmax or sigmoid.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.plan import Named, Shape, kind_of, kinds_between, reference, shown
from gpu_studio.plan.keras_objects import Kind
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects.as_compiled import is_as_compiled

_FEW = 8
_WIDE = ("int64", "uint32", "uint64")
"""Types of ids that would not all fit 32 bits."""
_NEAR = 1e-2
"""Shares in half precision add up to 1 only so nearly."""
_PUSHES = (30.0, -30.0)
"""What biases are pushed by to learn whether outputs can leave 0…1."""


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
    """How the targets of the data meet the outputs of the model.

    `shape` is that of one sample's outputs; `logits` says whether they are logits. `ending` is what
    they end in: softmax, sigmoid, or empty for neither.
    """

    kind: Kind
    logits: bool
    shape: Shape
    ending: str = ""

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        model: keras.Model,
        loss: Named | None = None,
        output: int = 0,
        field: str = "training",
    ) -> OutputForm:
        """Return it for these data with one target, an output of this model and the plan's loss.

        Raises PlanRefused for a loss by which these outputs cannot learn these targets.
        """
        shape = tuple(model.outputs[output].shape[1:])
        ending = _ending(model, dataset, output)
        name = loss.name if loss is not None else "auto"
        kind = kind_of(dataset.target, shape, name, ends_in_sigmoid=ending == "sigmoid")
        if kind is None and (reference(name) or is_as_compiled(name, model)):
            return cls("values", True, shape or (1,), ending)
        if kind is None:
            raise _unmet(dataset, shape, name, f"{field}.loss")
        return cls(kind, kind == "values" or not ending, shape or (1,), ending)

    @property
    def units(self) -> int:
        """The length of the last axis."""
        return self.shape[-1] or 1

    @property
    def classes(self) -> int | None:
        """The number of classes that the last axis scores; None if it scores none."""
        return self.units if self.kind in ("classes", "one_hot") else None

    def labels(self, wants: Wants, targets: Any) -> Any:
        """Convert targets as wanted: to ids, to one-hot labels, or number by number."""
        if self.kind == "classes":
            kind = "int64" if str(targets.dtype) in _WIDE else "int32"
            ids = keras.ops.cast(self._fitted(targets, len(self.shape) - 1), kind)
            if not wants.one_hot:
                return ids
            return self._columns(wants, keras.ops.one_hot(ids, self.units, dtype="float32"))
        if self.kind == "one_hot" and not wants.one_hot:
            return keras.ops.argmax(targets, axis=-1)
        labels = keras.ops.cast(self._fitted(targets, len(self.shape)), "float32")
        return self._columns(wants, labels)

    def predictions(self, wants: Wants, outputs: Any) -> Any:
        """Convert outputs to float32, and to probabilities if wanted."""
        outputs = self._fitted(keras.ops.cast(outputs, "float32"), len(self.shape))
        if wants.probabilities and self.logits and self.kind != "values":
            squash = keras.ops.sigmoid if self.kind == "binary" else keras.ops.softmax
            outputs = squash(outputs)
        return self._columns(wants, outputs)

    def example(self, dataset: Dataset) -> tuple[Any, Any]:
        """Return the targets and the outputs of one sample."""
        known = [*dataset.target.shape, *self.shape[len(dataset.target.shape) :]]
        shape = [own or (size or 1) for own, size in zip(self.shape, known, strict=False)]
        outputs = np.zeros((1, *shape), np.float32)
        wanted = dataset.train.wanted(slice(1))
        return keras.ops.convert_to_tensor(wanted), keras.ops.convert_to_tensor(outputs)

    def _fitted(self, numbers: Any, axes: int) -> Any:
        """Return the numbers with this many axes besides the samples': one of 1 may be missing."""
        missing = axes + 1 - len(numbers.shape)
        if not missing:
            return numbers
        change = keras.ops.expand_dims if missing > 0 else keras.ops.squeeze
        return change(numbers, axis=-1)

    def _columns(self, wants: Wants, of_all: Any) -> Any:
        return of_all[..., 1:2] if wants.class_1 and self.classes == 2 else of_all


def _unmet(dataset: Dataset, shape: Shape, loss: str, field: str) -> PlanRefused:
    target = dataset.target
    counted = "values" in kinds_between(target, shape)
    if loss == "auto":
        values = "If they are values, such as counts, name the loss: mean_squared_error."
        said = f'{field} is "auto", but the targets of {dataset.name} are whole numbers'
        if target.ids is None:
            return PlanRefused(f"{said} that number no classes.", [values])
        return PlanRefused(
            f"{said} up to {target.ids - 1:,}, and the model's outputs of shape {shape} are no "
            f"scores of {target.ids:,} classes.",
            [f"If they are ids of classes, give the last layer {target.ids:,} units.", values],
        )
    return PlanRefused(
        f"{field}.name is {shown(loss)}, by which outputs of shape {shape} cannot learn the "
        f"targets of {dataset.name}, of shape {target.shape}.",
        [
            'Write "auto".',
            "It compares scores of classes, one unit each, and there are none."
            if counted
            else "It compares number by number, which needs outputs of the targets' shape.",
        ],
    )


def ends_in_logits(model: keras.Model, dataset: Dataset) -> bool:
    """Return whether the model's outputs are unbounded scores."""
    return not _ending(model, dataset, 0)


def is_lone_softmax(output: Any) -> bool:
    """Return whether a model's output is a softmax over one unit, and so always 1."""
    return tuple(output.shape[-1:]) == (1,) and _named_ending(output) == "softmax"


_PASSING = (
    "Reshape",
    "Flatten",
    "Permute",
    "Identity",
    "Cropping1D",
    "Cropping2D",
    "Cropping3D",
    "Resizing",
    "UpSampling2D",
    "Squeeze",
    "ExpandDims",
    "Transpose",
)


_AFFINE = (
    keras.layers.Dense,
    keras.layers.EinsumDense,
    keras.layers.Conv1D,
    keras.layers.Conv2D,
    keras.layers.Conv3D,
)
"""Layers of which random weights take the outputs anywhere, whatever they are given."""


_RANDOM = (
    keras.initializers.VarianceScaling,  # Glorot's, He's and LeCun's are such
    keras.initializers.RandomNormal,
    keras.initializers.RandomUniform,
    keras.initializers.TruncatedNormal,
    keras.initializers.Orthogonal,
)


_without_samples: ContextVar[bool] = ContextVar("_without_samples", default=False)
_most_samples: ContextVar[int] = ContextVar("_most_samples", default=_FEW)


@contextmanager
def looking_at(most: int) -> Iterator[None]:
    """Compute no more samples at once meanwhile, such as those that a device trains at once.

    Where a large model is to be trained, memory for more of them need not be there.
    """
    before = _most_samples.set(min(most, _FEW))
    try:
        yield
    finally:
        _most_samples.reset(before)


@contextmanager
def without_samples() -> Iterator[None]:
    """Compute nothing meanwhile where the last layer tells that it gives scores.

    A large model may not be computed on a machine that is only asked about it. A run computes it
    all the same: the memory that this leaves to its steps is predicted.
    """
    before = _without_samples.set(True)
    try:
        yield
    finally:
        _without_samples.reset(before)


def _ending(model: keras.Model, dataset: Dataset, output: int) -> str:
    """Return what an output of the model ends in: softmax, sigmoid, or empty."""
    made = model.outputs[output]
    if named := _named_ending(made):
        return named
    known = _without_samples.get() and _is_affine(made)
    return "" if known else _seen_ending(model, dataset, output)


def _named_ending(tensor: Any) -> str:
    """Return what the layer that made the tensor says it ends in: softmax, sigmoid, or empty."""
    last = _maker(tensor)
    kind = type(last).__name__.lower()
    activation = getattr(getattr(last, "activation", None), "__name__", "")
    return next((name for name in ("softmax", "sigmoid") if name in (kind, activation)), "")


def _is_affine(tensor: Any) -> bool:
    """Return whether a layer of Keras' own made it that multiplies by random weights, and adds."""
    last = _maker(tensor)
    if type(last) not in _AFFINE or last.activation is not keras.activations.linear:
        return False
    is_free = last.kernel_constraint is None and bool(last.trainable_variables)
    return is_free and isinstance(last.kernel_initializer, _RANDOM)


def _maker(tensor: Any) -> Any:
    """Return the layer or operation that made the numbers of a tensor.

    Layers that only move numbers are looked through, and models are looked into.
    """
    # Keras' only record of which layer made a tensor.
    made = tensor._keras_history  # noqa: SLF001
    last = made.operation
    if type(last).__name__ in _PASSING:
        return _maker(last._inbound_nodes[made.node_index].input_tensors[0])  # noqa: SLF001
    if isinstance(last, keras.Model) and getattr(last, "outputs", None):
        return _maker(keras.tree.flatten(last.outputs)[made.tensor_index])
    return last


def _seen_ending(model: keras.Model, dataset: Dataset, output: int) -> str:
    """Return what the outputs of a few samples look like, whatever the weights are.

    Other layers may pass on or mix the result of a softmax, as the mean of two heads does.
    """
    target = dataset.target
    if target.measured and not (target.yes_or_no or target.one_hot):
        return ""
    outputs = _tried(model, dataset, output)
    if outputs.shape[-1] > 1 and (outputs >= 0).all() and _add_up(outputs):
        return "softmax"
    pushed = (_tried(model, dataset, output, push) for push in _PUSHES)
    return "sigmoid" if _are_within(outputs) and all(map(_are_within, pushed)) else ""


def _tried(model: keras.Model, dataset: Dataset, output: int, push: float = 0.0) -> Any:
    """Return an output for a few samples, with biases and the last weights pushed far off."""
    # A model may be built for a single batch size.
    rows = np.arange(model.inputs[0].shape[0] or _most_samples.get()) % len(dataset.train)
    variables = model.trainable_variables if push else []
    weights = [(v, v + push) for v in variables if len(v.shape) < 2]
    weights += [(v, v * push) for v in variables[-1:] if len(v.shape) > 1]
    # This trial call leaves the model's random states and statistics unchanged.
    with keras.StatelessScope(weights or None):
        samples = keras.tree.map_structure(keras.ops.convert_to_tensor, dataset.train.seen(rows))
        outputs = keras.tree.flatten(model(samples, training=False))[output]
    return np.asarray(keras.ops.convert_to_numpy(outputs), np.float64)


def _add_up(outputs: Any) -> bool:
    return bool(np.allclose(outputs.sum(axis=-1), 1, atol=_NEAR))


def _are_within(outputs: Any) -> bool:
    return bool(((outputs >= 0) & (outputs <= 1)).all())


def laid_out(numbers: Any, axes: int) -> Any:
    """Return the numbers with this many axes joined to that of the samples."""
    return keras.ops.reshape(numbers, (-1, *numbers.shape[1 + axes :]))


def laid_out_weight(weight: Any, mask: Any, predictions: Any) -> Any:
    """Return weights of samples, or ones, for predictions so laid out; what is masked has 0."""
    shape = tf.shape(predictions)[:-1]
    weight = tf.ones(shape[:1]) if weight is None else tf.cast(weight, tf.float32)
    each = tf.reshape(weight, tf.concat([shape[:1], tf.ones_like(shape[1:])], axis=0))
    counted = tf.broadcast_to(each, shape)
    if mask is not None:
        counted *= tf.cast(mask, tf.float32)
    return tf.reshape(counted, (-1,))
