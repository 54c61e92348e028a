"""Recomputation: stages keep only their inputs and compute the rest again in the backward pass.

Chen et al. 2016, "Training deep nets with sublinear memory cost" (arXiv:1604.06174), with the
stages of Huang et al. 2019, "GPipe" (arXiv:1811.06965), section 2.3, as segments. Only models that
are graphs have stages that can be found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from gpu_studio.trainer.model_layers import graph_of, leaves_below, nodes_of

Devices = Mapping[int, str | None]
"""The device of each layer, by the layer's id; None of one on several devices."""
Again = Callable[[], Any]
"""Returns a scope of Keras that repeats what is done next in the present one."""

# Scripts have the functions below as they stand, see `export.script_text`: these use Keras and
# TensorFlow alone, and their lines have 88 columns at most.


def called_in_stages(model: Any, devices: Devices, again: Again, *given: Any, **named: Any) -> Any:
    """Return what a model gives, whose stages are computed again in the backward pass.

    `devices` are those of its layers by their ids, and None of a layer on several. The
    function `again` returns a scope that repeats what the present one does next.
    """
    # A nested model that is called twice is one graph.
    graphs = {id(each): each for each in spread_graphs(model, devices)}.values()
    for graph in graphs:
        # In the instance's own dictionary: Keras would track an attribute.
        graph.__dict__["_run_through_graph"] = in_stages(graph, devices, again)
    try:
        return model(*given, **named)
    finally:
        for graph in graphs:
            del graph.__dict__["_run_through_graph"]


def spread_graphs(model: Any, devices: Devices) -> Iterator[Any]:
    """Yield the graph of the model, and nested ones that are on several devices."""
    graph = graph_of(model)
    if graph is None:
        return
    yield graph
    for node in nodes_of(graph):
        nested = isinstance(node.operation, keras.Model)
        if nested and device_in(devices, node.operation) is None:
            yield from spread_graphs(node.operation, devices)


def device_in(devices: Devices, operation: Any) -> str | None:
    """Return the one device of an operation of a graph; None if it is on several."""
    leaves = [operation]
    if isinstance(operation, keras.Model):
        leaves = [layer for _, layer in leaves_below(operation)]
    found = {devices.get(id(layer)) for layer in leaves}
    return found.pop() if len(found) == 1 else None


def stages_of(graph: Any, devices: Devices) -> list[tuple[str | None, list[Any]]]:
    """Return the stages of a graph, in the order in which they run.

    Each is a device, and nodes that run one after another on it. Where the device is
    None, nothing is computed again.
    """
    stages: list[tuple[str | None, list[Any]]] = []
    for node in nodes_of(graph):
        bare = not isinstance(node.operation, keras.layers.Layer)
        device = device_in(devices, node.operation)
        if bare and stages:
            device = stages[-1][0]
        if not stages or stages[-1][0] != device:
            stages.append((device, []))
        stages[-1][1].append(node)
    return stages


def taken_by(nodes: Sequence[Any]) -> list[Any]:
    """Return the symbolic tensors that nodes take from others."""
    made = {id(x) for node in nodes for x in node.outputs}
    taken = [x for node in nodes for x in node.arguments.keras_tensors]
    return list({id(x): x for x in taken if id(x) not in made}.values())


def in_stages(graph: Any, devices: Devices, again: Again) -> Callable[..., Any]:
    """Return what runs through a graph stage by stage, in the place of Keras' own."""
    stages = stages_of(graph, devices)
    wanted = {id(x) for _, nodes in stages for x in taken_by(nodes)}
    wanted |= {id(x) for x in graph.outputs}

    def run(inputs: Any, operation_fn: Any, call_fn: Any = None) -> Any:  # noqa: ARG001
        flat = keras.tree.flatten(inputs)
        values = dict(zip(map(id, graph.inputs), flat, strict=True))
        for device, nodes in stages:
            made = [x for node in nodes for x in node.outputs if id(x) in wanted]
            values |= run_stage(device, nodes, made, values, operation_fn, again)
        results = [values[id(x)] for x in graph.outputs]
        # Keras packs them so.
        return keras.tree.pack_sequence_as(graph._outputs_struct, results)  # noqa: SLF001

    return run


def run_stage(
    device: str | None,
    nodes: Sequence[Any],
    made: Sequence[Any],
    values: Mapping[int, Any],
    operation_fn: Any,
    again: Again,
) -> dict[int, Any]:
    """Return what a stage gives for its symbolic tensors `made`, by their ids."""
    taken = taken_by(nodes)
    before = [values[id(x)] for x in taken]
    repeated: list[Any] = []
    masks: list[Any] = []

    def compute(*given: Any) -> list[Any]:
        for value, copy in zip(before, given, strict=True):
            if (mask := keras.src.backend.get_keras_mask(value)) is not None:
                keras.src.backend.set_keras_mask(copy, mask)
        mine = dict(zip(map(id, taken), given, strict=True))
        if repeated:  # the second pass must draw the same numbers as the first
            with repeated[0]:
                return passed_through(nodes, mine, made, operation_fn)
        repeated.append(again())
        results = passed_through(nodes, mine, made, operation_fn)
        masks.extend(keras.src.backend.get_keras_mask(x) for x in results)
        return results

    if device is None:
        results = compute(*before)
    else:
        with tf.device(device):
            results = tf.recompute_grad(compute)(*before)
    for value, mask in zip(results, masks, strict=True):
        keras.src.backend.set_keras_mask(value, mask)
    return dict(zip(map(id, made), results, strict=True))


def passed_through(
    nodes: Sequence[Any], values: dict[int, Any], made: Sequence[Any], operation_fn: Any
) -> list[Any]:
    """Return what nodes give for their symbolic tensors `made`, from `values` by id."""
    for node in nodes:
        args, kwargs = node.arguments.fill_in(values)
        results = keras.tree.flatten(operation_fn(node.operation)(*args, **kwargs))
        values.update(zip(map(id, node.outputs), results, strict=True))
    return [values[id(x)] for x in made]
