"""A pipeline made anew, to look at: what shuffles anew for each pass has then not shuffled once.

`fit` looks at nothing beforehand, so that its first pass has the first order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops

MOST_BYTES = 1 << 26
"""What a copy takes besides: arrays within the pipeline of no more than that."""
_SEEDED = {"ShuffleDatasetV3": 4, "ShuffleAndRepeatDatasetV2": 5, "RandomDatasetV2": 2}
"""Which input of these operations says where the seed of the next pass is kept."""


def to_look_at(data: tf.data.Dataset) -> tf.data.Dataset:
    """Return the same pipeline, with seeds of its own; itself where that makes no difference.

    So it is also where nobody can copy it, or where its arrays are too large for that.
    """
    if not shuffles(data) or sum(map(_held, _parts(data))) > MOST_BYTES:
        return data
    try:
        return _copied(data)
    except (tf.errors.OpError, ValueError, TypeError, AttributeError):
        return data


def shuffles(data: tf.data.Dataset) -> bool:
    """Whether the pipeline shuffles, as far as it shows its parts."""
    return any("Shuffle" in type(each).__name__ for each in _parts(data))


def runs_python(data: tf.data.Dataset) -> bool:
    """Whether Python code runs in the pipeline, as far as it shows its parts."""
    parts = (part._functions() for part in _parts(data))  # noqa: SLF001
    made = (each.function.graph for functions in parts for each in functions)
    return any(b"PyFunc" in each.as_graph_def().SerializeToString() for each in made)


def _parts(data: Any) -> Iterator[Any]:
    yield data
    for each in data._inputs():  # noqa: SLF001 (no public name)
        yield from _parts(each)


def _held(part: Any) -> int:
    tensors = getattr(part, "_tensors", ())
    return sum(each.dtype.size * int(tf.size(each)) for each in tensors if hasattr(each, "dtype"))


def _beyond(given: str, kept: Mapping[str, str]) -> str:
    """Return what an input of an operation is kept from; itself where no cache keeps it.

    A copy would share the cache, and fill it in the order of its own first pass.
    """
    while given.partition(":")[0] in kept:
        given = kept[given.partition(":")[0]]
    return given


def _copied(data: tf.data.Dataset) -> tf.data.Dataset:
    ignored = 1  # state outside of the pipeline, such as variables: both share it
    written = tf.raw_ops.DatasetToGraphV2(
        input_dataset=data._variant_tensor,  # noqa: SLF001 (no public name)
        external_state_policy=ignored,
    )
    graph = tf.compat.v1.GraphDef.FromString(written.numpy())
    nodes = {node.name: node for node in graph.node}
    kept = {node.name: node.input[0] for node in graph.node if node.op == "CacheDatasetV2"}
    for node in graph.node:
        node.input[:] = [_beyond(each, kept) for each in node.input]
        if node.op in _SEEDED:
            seeds = nodes[node.input[_SEEDED[node.op]].partition(":")[0]]
            name = seeds.name
            seeds.Clear()
            seeds.name, seeds.op = name, "DummySeedGenerator"
    variant = tf.raw_ops.DatasetFromGraph(graph_def=graph.SerializeToString())
    return dataset_ops._VariantDataset(variant, data.element_spec)  # noqa: SLF001
