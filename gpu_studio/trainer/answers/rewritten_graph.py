"""The graph of a step as TensorFlow's optimizer of graphs (Grappler) rewrites it before it is run.

It moves factors to where they can be multiplied earlier, and drops what waits for nothing any more:
terms of the gradients of gelu and softmax are then computed in the forward pass, and held until the
backward pass (seen in the graphs of real steps). Where a factor goes depends on the names, which it
sorts by, and on how often it passes over the whole graph.

It also computes what depends on nothing but constants. For as many samples as a step is traced for,
a causal mask has gigabytes, and each pass would compute it again: such values are kept from it. So
are those that it makes for what a graph takes: 1,000 volumes of 128³ voxels are 8 GB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, device_properties_pb2, meta_graph_pb2
from tensorflow.python.eager import context
from tensorflow.python.framework import importer
from tensorflow.python.grappler import cluster, tf_optimizer
from tensorflow.python.ops import handle_data_util

from gpu_studio.common.figures import KIB, MIB

_AS_THEY_ARE = ["remapping", "function_optimization", "implementation_selector"]
"""Passes that change no memory: what they join is computed in the same memory when it is apart."""
_LARGE = 10 * MIB
"""Bytes of a constant above which its value is kept from it."""
_GROWING = 100 * KIB
"""Bytes above which it computes nothing that is larger than all that it is computed from: that is
`kMaxConstantSize` in TensorFlow's `constant_folding.cc`."""
_OF_ONE_NUMBER = ("Fill", "OnesLike", "ZerosLike")
"""What these give is kept as one number, however large it is."""
_UNCOMPUTED, _EQUAL = "FakeParam", "_equal"
"""An operation that it neither computes nor gives a value for, and which of them are equal: those
it joins. What a graph takes is never joined, as it is fed."""
_WAITED_FOR = "^"
"""Before the name of an operation that another one waits for, and takes nothing of."""
_STEP = "step"
"""The name of the signature, which says what must stay."""


@dataclass(frozen=True, slots=True)
class RewrittenGraph:
    """A graph that takes and gives the same; `names` are those of its operations before it is read.

    The attributes are those of a `FuncGraph`, as far as they are needed.
    """

    operations: list[Any]
    names: Mapping[str, str]
    outputs: list[Any]
    control_outputs: list[Any]
    internal_captures: list[Any]

    def get_operations(self) -> list[Any]:
        """All operations."""
        return self.operations

    def known(self, numbers: Mapping[str, int]) -> dict[Any, int]:
        """Numbers of tensors, those of the same name in `numbers`, by reference."""
        tensors = (
            (f"{self.names[op.name]}:{x.value_index}", x)
            for op in self.operations
            for x in op.outputs
        )
        return {x.ref(): numbers[name] for name, x in tensors if name in numbers}


Rewriting = Callable[[Any], RewrittenGraph]


def rewritten(graph: Any) -> RewrittenGraph:
    """Return `graph`, a traced function, as it is after the passes that all graphs go through.

    Raises whatever TensorFlow does about a graph that it cannot rewrite or read.
    """
    return read_back(graph, optimised(described(graph), settings()))


def optimised(definition: meta_graph_pb2.MetaGraphDef, about: config_pb2.ConfigProto) -> Any:
    """Return the definition of the graph after the passes that the settings `about` name."""
    return tf_optimizer.OptimizeGraph(
        about, definition, verbose=False, cluster=cluster.Cluster(devices=[_cpu()])
    )


def read_back(graph: Any, definition: Any) -> RewrittenGraph:
    """Return the rewritten `definition` of `graph` as operations."""
    with tf.Graph().as_default():
        given = {x.name: _given(x) for x in graph.inputs}
        inputs = {x.op.name for x in graph.inputs}
        kept = [node for node in definition.node if node.name not in inputs]
        _as_constants(kept)
        del definition.node[:]
        definition.node.extend(kept)
        taken = {name.partition(":")[0] for node in kept for name in node.input}
        by_name = {sign + x.op.name: x for x in given.values() for sign in ("", _WAITED_FOR)}
        read = importer.import_graph_def(
            definition,
            input_map={name: x for name, x in by_name.items() if name in taken},
            return_elements=[node.name for node in kept],
            name="",
        )
    return _found(graph, given, dict(zip((node.name for node in kept), read, strict=True)))


def _found(graph: Any, given: Mapping[str, Any], read: Mapping[str, Any]) -> RewrittenGraph:
    placed = {x.op.name: given[x.name].op for x in graph.inputs} | dict(read)
    return RewrittenGraph(
        list(placed.values()),
        {op.name: name for name, op in placed.items()},
        [placed[x.op.name].outputs[x.value_index] for x in graph.outputs],
        # Reads of variables that another one does too are gone.
        [placed[op.name] for op in graph.control_outputs if op.name in placed],
        [given[x.name] for x in graph.internal_captures],
    )


def settings() -> config_pb2.ConfigProto:
    """The settings with which a run's functions are rewritten, however small they are."""
    found = config_pb2.ConfigProto()
    found.CopyFrom(context.context().config)
    passes = found.graph_options.rewrite_options
    passes.min_graph_nodes = -1
    for name in _AS_THEY_ARE:
        setattr(passes, name, passes.OFF)
    return found


def described(graph: Any) -> meta_graph_pb2.MetaGraphDef:
    """Return the graph with what it takes, and what it gives and does, which must stay."""
    found = meta_graph_pb2.MetaGraphDef(graph_def=graph.as_graph_def(add_shapes=True))
    _keep_from_computing(found.graph_def.node, large_constants(graph))
    _keep_from_filling(found.graph_def.node, graph.inputs)
    signature = found.signature_def[_STEP]
    for named, tensors in ((signature.inputs, graph.inputs), (signature.outputs, graph.outputs)):
        for number, x in enumerate(tensors):
            named[str(number)].name = x.name
            named[str(number)].dtype = x.dtype.as_datatype_enum
    done = found.collection_def["train_op"].node_list.value
    done.extend(op.name for op in graph.control_outputs)
    return found


def large_constants(graph: Any) -> list[Any]:
    """Return the operations whose large values would be computed to be kept as constants.

    Those of one number alone are none of them: they are kept as that. The rules are those of
    `ConstantFolding::MaybeFoldable` in TensorFlow's `constant_folding.cc`.
    """
    sizes: dict[Any, int] = {}
    found = []
    for op in graph.get_operations():
        if op.type != "Const" and not _is_computed(op, sizes):
            continue
        sizes.update({x.ref(): _bytes(x) for x in op.outputs})
        if len(op.outputs) == 1 and sizes[op.outputs[0].ref()] > _LARGE:
            found.append(op)
    return [op for op in found if op.type not in ("Const", *_OF_ONE_NUMBER)]


def _is_computed(op: Any, sizes: Mapping[Any, int]) -> bool:
    """Return whether an operation depends on nothing but constants of these `sizes`."""
    if not op.inputs or op.op_def.is_stateful or any(x.ref() not in sizes for x in op.inputs):
        return False
    if any(attribute.type == "func" for attribute in op.op_def.attr):
        return False
    if not all(x.shape.is_fully_defined() and x.dtype.size for x in op.outputs):
        return False
    given, made = (sum(map(_bytes, several)) for several in (op.inputs, op.outputs))
    return op.type in _OF_ONE_NUMBER or made <= max(given, _GROWING)


def _bytes(tensor: Any) -> int:
    return int(tensor.shape.num_elements() or 0) * int(tensor.dtype.size)


def _keep_from_computing(nodes: Iterable[Any], large: Iterable[Any]) -> None:
    """Let these operations give values of which only the shape is known, and which are equal."""
    equal: dict[str | tuple[Any, ...], int] = {}
    numbers = {op.name: (op.outputs[0], _number(op, equal)) for op in large}
    for node in nodes:
        if node.name not in numbers:
            continue
        made, number = numbers[node.name]
        _leave_uncomputed(node, made)
        node.attr[_EQUAL].i = number


def _keep_from_filling(nodes: Iterable[Any], inputs: Iterable[Any]) -> None:
    """Let large inputs be no placeholders, of each of which a value is made, which nobody reads.

    See `UpdatePlaceholderShape` in TensorFlow's `grappler_item_builder.cc`.
    """
    large = {x.op.name: x for x in inputs if x.shape.is_fully_defined() and _bytes(x) > _LARGE}
    for node in nodes:
        if node.name in large:
            _leave_uncomputed(node, large[node.name])


def _leave_uncomputed(node: Any, made: Any) -> None:
    """Let a node give the tensor `made` without a value."""
    node.op = _UNCOMPUTED
    del node.input[:]
    node.attr.clear()
    node.attr["dtype"].type = made.dtype.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(made.shape.as_proto())


def _number(op: Any, equal: dict[str | tuple[Any, ...], int]) -> int:
    """Return a number that all operations have which compute the same from the same constants.

    `equal` has those that are known, by an operation's name and by what it computes from what.
    """
    if op.name in equal:
        return equal[op.name]
    about = op.node_def.attr
    said = tuple(sorted((k, v.SerializeToString()) for k, v in about.items() if k[0] != "_"))
    inputs = tuple((_number(x.op, equal), x.value_index) for x in op.inputs)
    equal[op.name] = number = equal.setdefault((op.type, said, inputs), len(equal))
    return number


def _as_constants(nodes: Iterable[Any]) -> None:
    """Let what was kept from being computed be the constant that it would have become.

    Its value, which nobody reads, is not in it.
    """
    for node in nodes:
        if node.op == _UNCOMPUTED and _EQUAL in node.attr:
            dtype, shape = node.attr["dtype"].type, node.attr["shape"].shape
            node.attr["value"].tensor.dtype = dtype
            node.attr["value"].tensor.tensor_shape.CopyFrom(shape)
            node.op = "Const"
            del node.attr["shape"]
            del node.attr[_EQUAL]


def _cpu() -> device_properties_pb2.NamedDevice:
    """A device that is only described, so that none is opened."""
    about = device_properties_pb2.DeviceProperties(type="CPU", num_cores=1, frequency=1000)
    return device_properties_pb2.NamedDevice(
        name="/job:localhost/replica:0/task:0/device:CPU:0", properties=about
    )


def _given(tensor: Any) -> Any:
    """Return a placeholder like an input, of a variable with what is known of its value."""
    made = tf.compat.v1.placeholder(tensor.dtype, tensor.shape, name=tensor.op.name)
    handle_data_util.copy_handle_data(tensor, made)
    return made
