"""Trace a training step for a question, without computing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import keras
import tensorflow as tf

from gpu_studio.placement.step_memory import UNIT
from gpu_studio.trainer.answers.graph_tensors import LOOPS, numbers_kept, size_of
from gpu_studio.trainer.data import Dataset
from gpu_studio.trainer.data.trees import flat
from gpu_studio.trainer.data.values import type_name
from gpu_studio.trainer.layer_state import beginning_anew
from gpu_studio.trainer.model_layers import PlaceableLayer, replaced_call
from gpu_studio.trainer.program import Program

PRIMES = (1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049)
"""A step is traced for one of these numbers of samples. A tensor whose number of elements that
prime divides grows with the batch. No weight of the model has such a size, so one trace gives the
size of every tensor for any batch."""
LOOP_SCOPE = "while"
"""The scope that a run's loop over steps gives to all operations; no layer's."""


@dataclass(frozen=True, slots=True)
class StepTrace:
    """The graph of a step for `batch` samples.

    `layer_of` gives the layer of each operation that a layer's call made, by the operation's name;
    `outputs` the tensors that each layer gave, a list a call; `gradients` those of the weights.
    By layer, `rows` are the bytes a sample of gradients of rows that are looked up, and `shapes`
    what the turns of its loops keep of shapes where no step knows how many samples come.
    """

    graph: Any
    batch: int
    layer_of: dict[str, str]
    outputs: dict[str, list[Any]]
    gradients: list[Any]
    rows: Mapping[str, int] = field(default_factory=dict)
    shapes: Mapping[str, int] = field(default_factory=dict)


def trace_step(program: Program, dataset: Dataset, layers: Sequence[PlaceableLayer]) -> StepTrace:
    """Trace the step that each replica of `program` trains; nothing is computed."""
    batch = _prime(program.model, dataset)
    graph, notes = _traced(program, dataset, layers, batch)
    rows = {
        path: sum(size_of(x, batch).per_sample for x in some) for path, some in notes.rows.items()
    }
    shapes: dict[str, int] = {}
    if any(op.type in LOOPS for op in graph.get_operations()):
        with suppress(Exception):  # whatever a layer says to samples of which it knows no number
            shapes = _kept_shapes(*_traced(program, dataset, layers, None))
    return StepTrace(graph, batch, notes.layer_of, notes.outputs, notes.gradients, rows, shapes)


def _traced(
    program: Program, dataset: Dataset, layers: Sequence[PlaceableLayer], batch: int | None
) -> tuple[Any, _Notes]:
    """Return the graph of a step for a batch of this size, or of any, and what was noted of it."""
    notes = _Notes({id(v): each.path for each in layers for v in each.layer.weights})
    anew = beginning_anew(program.model)
    on_cpu = tf.device("CPU:0")  # what a card's step has besides is added where cards are rehearsed
    with notes.listening(layers), _noting_gradients(program, notes), anew, on_cpu:
        # It must be the very step that a run executes.
        step = tf.function(_named(program._train_replica), autograph=False)  # noqa: SLF001
        return step.get_concrete_function(*_signature(dataset, batch)).graph, notes


def _kept_shapes(graph: Any, notes: _Notes) -> dict[str, int]:
    """Return by layer the bytes of whole numbers that the turns of its loops leave in lists."""
    found: dict[str, int] = {}
    for op in graph.get_operations():
        path = notes.layer_of.get(op.name, "") if op.type in LOOPS else ""
        if path:
            found[path] = found.get(path, 0) + numbers_kept(op) * UNIT
    return found


def _named(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return the step with the names that its operations have in a run's loop over steps.

    TensorFlow sorts by them when it rewrites the graph.
    """

    def named(*args: Any) -> Any:
        with tf.name_scope(LOOP_SCOPE):
            return step(*args)

    return named


def _prime(model: Any, dataset: Dataset) -> int:
    """Return a prime that divides no axis of a weight or of a sample."""
    axes = [axis for variable in model.variables for axis in variable.shape]
    axes += [axis for each in dataset.train.arrays for axis in each.shape[1:]]
    axes += flat(dataset.outputs)
    return next((prime for prime in PRIMES if all(axis % prime for axis in axes)), PRIMES[-1])


def _signature(dataset: Dataset, batch: int | None) -> tuple[Any, ...]:
    samples = tf.nest.map_structure(
        lambda each: tf.TensorSpec((batch, *each.shape[1:]), type_name(each.dtype)),
        dataset.train.given(slice(1)),
    )
    return (
        *samples,
        tf.TensorSpec((batch,), tf.float32),
        tf.TensorSpec((), tf.int64),
    )


@dataclass(slots=True)
class _Notes:
    """Records the operations of each layer's call, its outputs, and the gradients applied.

    `owners` are the layers of the weights, by identity; `rows` the gradients of rows of these.
    """

    owners: Mapping[int, str]
    rows: dict[str, list[Any]] = field(default_factory=dict)
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

    def noted(gradients: Any, variables: Any, *args: Any, **kwargs: Any) -> Any:
        for gradient, variable in zip(gradients, variables, strict=True):
            # An embedding's gradient has rows for the tokens of the batch only.
            if isinstance(gradient, tf.IndexedSlices):
                path = notes.owners.get(id(variable), "")
                notes.rows.setdefault(path, []).append(gradient.values)
                notes.gradients.append(gradient.values)
            elif gradient is not None:
                notes.gradients.append(gradient)
        return apply(gradients, variables, *args, **kwargs)

    stack = ExitStack()
    program.optimizer.__dict__["apply"] = noted
    stack.callback(program.optimizer.__dict__.pop, "apply")
    return stack
