"""A plain copy of a run's model, without a strategy, whose every layer can be looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.trainer import keras_objects
from gpu_studio.trainer.failures.finding import Look
from gpu_studio.trainer.model_layers import placeable_layers
from gpu_studio.trainer.models import build_model
from gpu_studio.trainer.session import Session
from gpu_studio.trainer.sole_output import sole_output
from gpu_studio.trainer.traced_layers import replaced_call

Arrays = Mapping[str, np.ndarray]


class CopyOfModel:
    """Built as the run's model was, so that it begins with the same weights; lies on TensorFlow's first device."""

    def __init__(self, session: Session, base: Path) -> None:
        self._session = session
        plan = session.plan
        self.model = build_model(plan.model, session.dataset, base, plan.training.seed)
        self._layers = [each.layer for each in placeable_layers(self.model)]

    def fresh(self) -> dict[str, np.ndarray]:
        """The variables that the run began with, under the names of its checkpoints."""
        plan, steps = self._session.plan, self._session.cut.steps()
        optimizer = keras_objects.make_optimizer(plan.training, steps, steps * plan.training.epochs)
        optimizer.build(self.model.trainable_variables)
        slots = [variable for variable in optimizer.variables if variable.name != "learning_rate"]
        values = [variable.numpy() for variable in (*self.model.weights, *slots)]
        return dict(zip(self._session.variables, values, strict=True))

    def take(self, arrays: Arrays) -> None:
        """Have these weights, named as in a checkpoint."""
        weights = [value for name, value in arrays.items() if name.startswith("model/")]
        for variable, value in zip(self.model.weights, weights, strict=True):
            variable.assign(value)

    def look(self, x: np.ndarray, y: np.ndarray) -> Look:
        """What is first not finite when these samples go through the model."""
        if not _is_finite(x) or not _is_finite(y):
            return Look("data")
        for layer in self._layers:
            # Infinite ones that nothing trains may be meant, as in a mask.
            if not all(map(_is_finite, layer.trainable_weights)) or any(map(_is_nan, layer.non_trainable_weights)):
                return Look("weights", layer.name)
        for part in self._parts(x, y):
            layer, loss = self._forward(*part)
            if layer is not None:
                return Look("output", layer)
            if not _is_finite(loss):
                return Look("loss")
        return Look("none")

    def gradient_norms(self, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
        """The norm of each layer's gradient over the whole batch."""
        totals: list[Any] = [None] * len(self.model.trainable_variables)
        for part in self._parts(x, y):
            totals = [_sum(total, more) for total, more in zip(totals, self._gradients(*part, len(x)), strict=True)]
        squares = {
            id(variable): float(tf.reduce_sum(tf.square(tf.cast(total, tf.float64))))
            for variable, total in zip(self.model.trainable_variables, totals, strict=True)
            if total is not None
        }
        return {
            layer.name: sum(squares.get(id(variable), 0.0) for variable in layer.trainable_variables) ** 0.5
            for layer in self._layers
            if layer.trainable_variables
        }

    def _parts(self, x: np.ndarray, y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The batch in parts as large as those that a device computed in training."""
        rows = max(1, -(-len(x) // self._session.cut.replicas))
        for first in range(0, len(x), rows):
            yield x[first : first + rows], y[first : first + rows]

    def _forward(self, x: np.ndarray, y: np.ndarray) -> tuple[str | None, Any]:
        """The first layer whose output is not finite, and the mean loss."""
        bad: list[str] = []
        with self._watched(bad):
            outputs = sole_output(self.model(x, training=True))
        return (bad[0] if bad else None), tf.reduce_mean(self._loss(y, outputs))

    def _gradients(self, x: np.ndarray, y: np.ndarray, samples: int) -> list[Any]:
        variables = self.model.trainable_variables
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(self._loss(y, sole_output(self.model(x, training=True)))) / samples
        return [
            tf.convert_to_tensor(g) if g is not None else None
            for g in tape.gradient(loss, [v.value for v in variables])
        ]

    def _loss(self, y: np.ndarray, outputs: Any) -> Any:
        """The loss of each sample, shape (samples,)."""
        losses = tf.cast(self._session.program.loss(y, outputs), tf.float32)
        rank = losses.shape.rank or 1
        return tf.reduce_mean(losses, axis=list(range(1, rank))) if rank > 1 else losses

    @contextmanager
    def _watched(self, bad: list[str]) -> Iterator[None]:
        with ExitStack() as stack:
            for layer in self._layers:
                stack.enter_context(replaced_call(layer, _watching(layer.name, bad)))
            yield


def _watching(name: str, bad: list[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def around(call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            outputs = call(*args, **kwargs)
            if not all(_is_finite(each) for each in keras.tree.flatten(outputs) if tf.is_tensor(each)):
                bad.append(name)
            return outputs

        return watched

    return around


def _is_finite(values: Any) -> bool:
    array = np.asarray(values.numpy() if hasattr(values, "numpy") else values)
    return not np.issubdtype(array.dtype, np.inexact) or bool(np.all(np.isfinite(array)))


def _is_nan(variable: Any) -> bool:
    return bool(np.any(np.isnan(variable.numpy()))) if "float" in str(variable.dtype) else False


def _sum(total: Any, more: Any) -> Any:
    return more if total is None else total if more is None else total + more
