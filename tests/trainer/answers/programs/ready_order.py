"""Whether a filter's gradient comes before that of the input, as foreseen and as TensorFlow has it.

Prints both by layer, as JSON.
"""

from __future__ import annotations

import heapq
import json
import sys
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.eager import context

from gpu_studio.trainer.answers.rewritten_graph import rewritten
from gpu_studio.trainer.answers.step_operations import Graph

SAMPLES = 7
FILTER, INPUT = "BackpropFilter", "BackpropInput"


def layers() -> list[Any]:
    """Convolutions of rows."""
    kinds = keras.layers
    same = {"padding": "same", "activation": "relu"}
    return [
        kinds.Conv1D(5, 3, **same),
        kinds.Conv1D(6, 3, **same),
        kinds.Conv1D(6, 3, dilation_rate=2, **same),
        kinds.Conv1D(6, 3, dilation_rate=4, **same),
        kinds.Reshape((4, 8, 6)),
        kinds.Conv2D(5, 3, **same),
        kinds.Conv2D(5, 3, **same),
        kinds.DepthwiseConv2D(3, **same),
        kinds.SeparableConv2D(4, 3, **same),
    ]


def stepping(model: Any) -> Any:
    """A step that changes the weights."""

    @tf.function(autograph=False)
    def step(rows: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(rows) ** 2)
        weights = [each.value for each in model.trainable_variables]
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.1 * gradient)
        return loss

    return step.get_concrete_function(tf.TensorSpec((SAMPLES, 32, 3)))


def in_the_run(step: Any) -> dict[str, int]:
    """The order in which the graph that TensorFlow runs is read."""
    context.context().enable_graph_collection()
    step(tf.zeros((SAMPLES, 32, 3)))
    graphs = context.context().export_run_metadata().function_graphs
    nodes = max((g.node for f in graphs for g in f.partition_graphs), key=len)
    return read(nodes)


def read(nodes: Any) -> dict[str, int]:
    """Of all whose inputs are there the first comes next (`graph_constructor.cc`)."""
    places = {node.name: place for place, node in enumerate(nodes)}
    before = [{places[x.lstrip("^").partition(":")[0]] for x in node.input} for node in nodes]
    ready = [place for place, each in enumerate(before) if not each]
    order: dict[str, int] = {}
    while ready:
        place = heapq.heappop(ready)
        order[nodes[place].name] = len(order)
        for behind, each in enumerate(before):
            if place in each:
                each.remove(place)
                if not each:
                    heapq.heappush(ready, behind)
    return order


def filters_first(order: dict[str, int]) -> dict[str, bool]:
    """Of each layer whether the filter's gradient comes first."""
    pairs = {
        name: [each for each in order if each.endswith(name.replace(FILTER, INPUT))]
        for name in order
        if FILTER in name
    }
    return {name: order[name] < order[other[0]] for name, other in sorted(pairs.items()) if other}


def main() -> None:
    """Compare the two orders."""
    model = keras.Sequential([keras.Input((32, 3)), *layers()])
    step = stepping(model)
    graph = Graph(step.graph, SAMPLES)
    run = graph.rewritten(rewritten)
    assert run is not None
    names = [op.name for op in graph.operations]
    foreseen = dict(zip(names, graph.ranks_in(run), strict=True))
    told = {"run": filters_first(in_the_run(step)), "foreseen": filters_first(foreseen)}
    sys.stdout.write(json.dumps(told) + "\n")


main()
