"""Recomputation: stages keep only their inputs and compute the rest again in the backward pass.

Chen et al. 2016, "Training deep nets with sublinear memory cost" (arXiv:1604.06174), with the
stages of Huang et al. 2019, "GPipe" (arXiv:1811.06965), section 2.3, as segments. Only models that
are graphs have stages that can be found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import keras
import tensorflow as tf
from keras.src import backend

from gpu_studio.trainer.layer_state import Caught
from gpu_studio.trainer.model_layers import graph_of, leaves_below, nodes_of
from gpu_studio.trainer.placed.placing import LayerAssignment

Operation = Callable[[Any], Any]
"""Gives what runs for an operation of a graph, as Keras asks for it."""


@dataclass(slots=True)
class RecomputedStage:
    """Nodes of a graph that run one after another on one device.

    `device` is None for nodes that are not recomputed.
    """

    device: str | None
    nodes: list[Any] = field(default_factory=list)

    def inputs(self) -> list[Any]:
        """The symbolic tensors that it takes from other stages."""
        made = {id(x) for node in self.nodes for x in node.outputs}
        taken = {
            id(x): x
            for node in self.nodes
            for x in node.arguments.keras_tensors
            if id(x) not in made
        }
        return list(taken.values())

    def outputs(self, wanted: set[int]) -> list[Any]:
        """The symbolic tensors that it creates and others read."""
        return [x for node in self.nodes for x in node.outputs if id(x) in wanted]


class Recomputing:
    """Runs the graphs of a model in stages, each of which is recomputed in the backward pass."""

    def __init__(self, model: Any, seats: Sequence[LayerAssignment]) -> None:
        self._devices = {id(seat.layer): None if seat.split else seat.home for seat in seats}
        # A nested model that is called twice is one graph.
        self._graphs = list({id(graph): graph for graph in self._spread_graphs(model)}.values())

    @property
    def possible(self) -> bool:
        """Whether the model is a graph at all."""
        return bool(self._graphs)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """While entered, the model's graphs run in stages."""
        with ExitStack() as stack:
            for graph in self._graphs:
                # In the instance's own dictionary: Keras would track an attribute.
                graph.__dict__["_run_through_graph"] = self._runner(graph)
                stack.callback(graph.__dict__.pop, "_run_through_graph")
            yield

    def _spread_graphs(self, model: Any) -> Iterator[Any]:
        """Return the graph of the model, and nested ones that are on several devices."""
        graph = graph_of(model)
        if graph is None:
            return
        yield graph
        for node in nodes_of(graph):
            if isinstance(node.operation, keras.Model) and self._device(node.operation) is None:
                yield from self._spread_graphs(node.operation)

    def _device(self, operation: Any) -> str | None:
        """The one device that an operation of a graph is on; None if it is on several."""
        leaves = (
            [layer for _, layer in leaves_below(operation)]
            if isinstance(operation, keras.Model)
            else [operation]
        )
        found = {self._devices.get(id(layer)) for layer in leaves}
        return found.pop() if len(found) == 1 else None

    def stages(self, graph: Any) -> list[RecomputedStage]:
        """Cut the nodes of a graph into stages, in the order in which they run."""
        stages: list[RecomputedStage] = []
        for node in nodes_of(graph):
            bare = not isinstance(node.operation, keras.layers.Layer)
            device = stages[-1].device if bare and stages else self._device(node.operation)
            if not stages or stages[-1].device != device:
                stages.append(RecomputedStage(device))
            stages[-1].nodes.append(node)
        return stages

    def _runner(self, graph: Any) -> Callable[..., Any]:
        stages = self.stages(graph)
        wanted = {id(x) for stage in stages for x in stage.inputs()} | {
            id(x) for x in graph.outputs
        }

        def run(inputs: Any, operation_fn: Operation, call_fn: Any = None) -> Any:  # noqa: ARG001
            values = dict(zip(map(id, graph.inputs), keras.tree.flatten(inputs), strict=True))
            for stage in stages:
                self._run_stage(stage, wanted, values, operation_fn)
            results = [values[id(x)] for x in graph.outputs]
            # Keras packs them so.
            return keras.tree.pack_sequence_as(graph._outputs_struct, results)  # noqa: SLF001

        return run

    def _run_stage(
        self,
        stage: RecomputedStage,
        wanted: set[int],
        values: dict[int, Any],
        operation_fn: Operation,
    ) -> None:
        inputs, outputs = stage.inputs(), stage.outputs(wanted)
        masks: list[Any] = [None] * len(outputs)
        again: list[Caught] = []

        def compute(*given: Any) -> list[Any]:
            mine = dict(zip(map(id, inputs), given, strict=True))
            _copy_masks([values[id(x)] for x in inputs], given)
            if again:  # the second pass must draw the same numbers as the first
                with again[0]:
                    return _through(stage.nodes, mine, outputs, operation_fn)
            again.append(backend.get_stateless_scope().again())
            made = _through(stage.nodes, mine, outputs, operation_fn)
            masks[:] = [backend.get_keras_mask(x) for x in made]
            return made

        taken = [values[id(x)] for x in inputs]
        if stage.device is None:
            results = compute(*taken)
        else:
            with tf.device(stage.device):
                results = tf.recompute_grad(compute)(*taken)
        for symbol, value, mask in zip(outputs, results, masks, strict=True):
            backend.set_keras_mask(value, mask)
            values[id(symbol)] = value


def _through(
    nodes: Sequence[Any],
    values: dict[int, Any],
    outputs: Sequence[Any],
    operation_fn: Operation,
) -> list[Any]:
    for node in nodes:
        args, kwargs = node.arguments.fill_in(values)
        made = operation_fn(node.operation)(*args, **kwargs)
        values.update(zip(map(id, node.outputs), keras.tree.flatten(made), strict=True))
    return [values[id(x)] for x in outputs]


def _copy_masks(values: Sequence[Any], copies: Sequence[Any]) -> None:
    for value, copy in zip(values, copies, strict=True):
        mask = backend.get_keras_mask(value)
        if mask is not None:
            backend.set_keras_mask(copy, mask)
