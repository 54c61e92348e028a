"""The gradients of a step: which are computed first, and their sums over all replicas."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.ops import control_flow_util

from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects import Objective
from gpu_studio.trainer.user_code.telling import begins_in

_SUMS = frozenset({"Add", "AddV2", "Sub"})
"""Their gradients need nothing of the terms but their shapes."""


def refuse_without(gradients: Sequence[Any], loss: Objective) -> None:
    """Raises PlanRefused where no weight has a gradient: Keras does not say of which loss."""
    if gradients and all(each is None for each in gradients):
        begins = [line for each in loss.heads for line in begins_in(each.loss.function)]
        why = "Between weights and loss lies what has none: argmax, rounding, whole numbers."
        raise PlanRefused(
            f"The loss {loss.name} has no gradient by any weight, so that nothing can be learnt.",
            [why, *begins],
        )


def filters_first(gradients: Sequence[Any]) -> None:
    """Have cards compute the gradient of a convolution's filter before that of its input.

    `gradients` are those of the step, None where there is none: what they do not need, such as a
    frozen filter's, stays for TensorFlow to prune.

    A card computes one after the other anyhow, and in this order holds less: what goes back is not
    there yet while the kernel runs that needs most beside what it makes. Without an edge the graph
    decides, once for all steps and for each replica by itself. CPUs compute both side by side, and
    XLA has an order of its own.
    """
    for op, filters in filters_before(_in_graph(gradients)).items():
        if _is_on_card(op):
            op._add_control_inputs(filters)  # noqa: SLF001 (no public way)


def shapes_first(gradients: Sequence[Any]) -> None:
    """Have cards read the shape of a term before they make a sum that is written over it.

    Where a step does not know how many samples come, the gradient of a sum reads the shapes of both
    terms. As long as these are not read both terms lie there, and the sum has memory of its own: in
    one step of a hundred threads bring them in that order. `gradients` as in `filters_first`.
    """
    operations = _in_graph(gradients)
    takers: dict[Any, set[Any]] = {}
    for op in operations:
        for x in op.inputs:
            takers.setdefault(x.ref(), set()).add(op)
    for op in operations:
        if op.type in _SUMS and _is_on_card(op):
            readers = [takers[x.ref()] - {op} for x in op.inputs if _is_alike(x, op.outputs[0])]
            over = [some for some in readers if all(each.type == "Shape" for each in some)]
            if over and all(over) and all(each.device == op.device for each in over[0]):
                op._add_control_inputs([*over[0]])  # noqa: SLF001 (no public way)


def _is_alike(term: Any, made: Any) -> bool:
    """Whether they have the same shape, as far as that is known."""
    known = term.shape.rank is not None and made.shape.rank is not None
    return known and term.shape.as_list() == made.shape.as_list()


def _in_graph(gradients: Sequence[Any]) -> list[Any]:
    """Return the operations of a step that its gradients need; none where no edge can be added."""
    graph = tf.compat.v1.get_default_graph()
    if tf.executing_eagerly() or control_flow_util.GraphOrParentsInXlaContext(graph):
        return []  # operation by operation, their order is that of the program
    ends = [x.op for x in tf.nest.flatten(gradients, expand_composites=True) if x is not None]
    return needed(graph, ends)


def needed(graph: Any, ends: Sequence[Any]) -> list[Any]:
    """Return the operations of a graph that these need, themselves included, as they were made."""
    waiting, found = list(ends), set()
    while waiting:
        op = waiting.pop()
        if op.name not in found:
            found.add(op.name)
            waiting += [*(x.op for x in op.inputs), *op.control_inputs]
    return [op for op in graph.get_operations() if op.name in found]


def filters_before(operations: Sequence[Any]) -> dict[Any, list[Any]]:
    """Return which gradients of filters can come before each gradient of a convolution's input.

    `operations` are in the order in which they were made. The filters are those of convolutions
    with the same output, whose gradients need nothing that was made after the input's: without
    them, no edge closes a circle, also where gradients of gradients are computed.
    """
    places = {op.name: place for place, op in enumerate(operations)}
    by_output: dict[Any, list[Any]] = {}
    for op in operations:
        if "BackpropFilter" in op.type:
            by_output.setdefault(op.inputs[2].ref(), []).append(op)

    def needs_any(op: Any) -> bool:  # a constant does not, such as the shape of a filter
        return bool(op.inputs or op.control_inputs)

    def begins(op: Any) -> int:
        before = (*(x.op for x in op.inputs), *op.control_inputs)
        return max(places.get(each.name, -1) if needs_any(each) else -1 for each in before)

    return {
        op: first
        for place, op in enumerate(operations)
        if "BackpropInput" in op.type
        if (first := [f for f in by_output.get(op.inputs[2].ref(), ()) if begins(f) < place])
    }


def _is_on_card(op: Any) -> bool:
    kind = tf.DeviceSpec.from_string(op.device).device_type
    # What nothing puts on a device is on that of the call, or else on the first card.
    kind = kind or tf.DeviceSpec.from_string(context.context().device_name or "").device_type
    return bool(kind == "GPU" or (kind is None and tf.config.list_logical_devices("GPU")))


def in_one_piece(strategy: Any, total: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    """Sum each of these values by `total` over replicas: between processes, a type in one piece.

    There each piece costs a way there and back, however small it is.
    """
    if not strategy.extended._in_multi_worker_mode():  # noqa: SLF001 (no public name)
        return [total(value) for value in values]
    first = [strategy.experimental_local_results(value)[0] for value in values]
    found: dict[int, Any] = {}
    for kind in dict.fromkeys(each.dtype for each in first):
        places = [place for place, each in enumerate(first) if each.dtype == kind]
        packed = strategy.run(_packed, [values[place] for place in places])
        sizes = [math.prod(first[place].shape) for place in places]
        parts = tf.split(total(packed), sizes)
        for place, part in zip(places, parts, strict=True):
            found[place] = tf.reshape(part, first[place].shape)
    return [found[place] for place in range(len(values))]


def _packed(*values: Any) -> Any:
    return tf.concat([tf.reshape(value, [-1]) for value in values], axis=0)


# Scripts have this function as it stands, see `export.script_text`.
def rows_once(gradient: Any, parts: int) -> Any:
    """Return a gradient in which rows that all parts of a batch bring alike are one.

    Keras' adaptive optimizers square each row by itself, also where one occurs twice.
    Rows that rise and are the same in each part are looked up for no sample, as a
    transformer looks up its positions: without parts they would occur once.
    """
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    values, rows = gradient.values, gradient.indices
    each = tf.shape(rows)[0] // parts
    whole = each * parts
    first, by_part = rows[:each], tf.reshape(rows[:whole], (parts, each))
    alike = tf.reduce_all(by_part == first) & tf.reduce_all(first[1:] > first[:-1])
    shape = tf.concat([[parts, each], tf.shape(values)[1:]], axis=0)
    values, rows = tf.cond(
        alike & (whole == tf.shape(rows)[0]),
        lambda: (tf.reduce_sum(tf.reshape(values[:whole], shape), axis=0), first),
        lambda: (values, rows),
    )
    return tf.IndexedSlices(values, rows, gradient.dense_shape)
