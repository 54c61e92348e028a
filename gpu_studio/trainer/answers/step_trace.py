"""One training step of a program as a TensorFlow graph that knows each operation's layer.

The step is traced for a batch of a large prime number of samples. A tensor whose number of elements
that prime divides grows with the batch. No weight of the model has such a size, so one trace gives
the size of every tensor for any batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import keras
import tensorflow as tf

from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.model_layers import PlaceableLayer
from gpu_studio.trainer.program import Program
from gpu_studio.trainer.traced_layers import replaced_call

PRIMES = (1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049)
BACKWARD = "gradient_tape/"
"""What the names of the operations that compute gradients begin with."""


@dataclass(frozen=True, slots=True)
class StepTrace:
    """The graph of a step for `batch` samples.

    `layer_of` gives the layer of each operation that a layer's call made, by the operation's name;
    `outputs` the tensors that each layer gave, a list a call; `gradients` those of the weights.
    """

    graph: Any
    batch: int
    layer_of: dict[str, str]
    outputs: dict[str, list[Any]]
    gradients: list[Any]


def trace_step(program: Program, dataset: Dataset, layers: Sequence[PlaceableLayer]) -> StepTrace:
    """Trace the step that each replica of `program` trains; nothing is computed."""
    batch = _prime(program.model, dataset)
    notes = _Notes()
    with notes.listening(layers), _noting_gradients(program, notes):
        # The step of a run, and no other.
        step = tf.function(program._train_replica, autograph=False)  # noqa: SLF001
        graph = step.get_concrete_function(*_signature(dataset, batch)).graph
    return StepTrace(graph, batch, notes.layer_of, notes.outputs, notes.gradients)


def _prime(model: Any, dataset: Dataset) -> int:
    """Return a prime that divides no axis of a weight or of a sample."""
    axes = [axis for variable in model.variables for axis in variable.shape]
    axes += [*dataset.sample_shape, dataset.outputs]
    return next((prime for prime in PRIMES if all(axis % prime for axis in axes)), PRIMES[-1])


def _signature(dataset: Dataset, batch: int) -> tuple[Any, ...]:
    x, y = dataset.train.seen(slice(1)), dataset.train.wanted(slice(1))
    return (
        tf.TensorSpec((batch, *x.shape[1:]), x.dtype),
        tf.TensorSpec((batch, *y.shape[1:]), y.dtype),
        tf.TensorSpec((batch,), tf.float32),
        tf.TensorSpec((), tf.int64),
    )


@dataclass(slots=True)
class _Notes:
    """Records the operations of each layer's call, its outputs, and the gradients applied."""

    layer_of: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, list[Any]] = field(default_factory=dict)
    gradients: list[Any] = field(default_factory=list)
    seen: int = 0

    def listening(self, layers: Sequence[PlaceableLayer]) -> ExitStack:
        stack = ExitStack()
        for each in layers:
            stack.enter_context(replaced_call(each.layer, partial(self._noting, each.path)))
        return stack

    def _noting(self, path: str, call: Callable[..., Any]) -> Any:
        def noted(*args: Any, **kwargs: Any) -> Any:
            graph = tf.compat.v1.get_default_graph()
            self._take_casts(path, graph)
            before = len(graph.get_operations())
            outputs = call(*args, **kwargs)
            operations = graph.get_operations()
            self.layer_of.update({operation.name: path for operation in operations[before:]})
            self.seen = len(operations)
            self.outputs.setdefault(path, []).append(
                [x for x in keras.tree.flatten(outputs) if tf.is_tensor(x)]
            )
            return outputs

        return noted

    def _take_casts(self, path: str, graph: Any) -> None:
        """Assign the casts of the layer's inputs to the layer.

        Under mixed precision Keras makes them before it calls the layer.
        """
        casts = (
            operation
            for operation in graph.get_operations()[self.seen :]
            if operation.type == "Cast"
        )
        self.layer_of.update({operation.name: path for operation in casts})


def _noting_gradients(program: Program, notes: _Notes) -> ExitStack:
    apply = program.optimizer.apply

    def noted(gradients: Any, *args: Any, **kwargs: Any) -> Any:
        # An embedding's gradient has rows for the tokens of the batch only.
        rows = [
            gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
            for gradient in gradients
        ]
        notes.gradients += [gradient for gradient in rows if gradient is not None]
        return apply(gradients, *args, **kwargs)

    stack = ExitStack()
    program.optimizer.__dict__["apply"] = noted
    stack.callback(program.optimizer.__dict__.pop, "apply")
    return stack
