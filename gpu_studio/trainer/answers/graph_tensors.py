"""How large the tensors of a graph are, whose memory they share, and what loops put into lists."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.ops import while_v2

from gpu_studio.placement.liveness import NOTHING, Size
from gpu_studio.placement.step_memory import SplitTurns

READING = "ReadVariableOp"
_ELEMENT = "TensorListGetItem"
NO_MEMORY = frozenset({"Const", READING, "VarHandleOp", "NoOp", _ELEMENT, "TensorListPopBack"})
"""They give what is there already: a variable's memory, a constant, or what is in a list."""
LOOPS = frozenset({"While", "StatelessWhile"})
LISTING = "TensorListFromTensor"
_SHARING = (
    "Reshape Identity IdentityN Squeeze ExpandDims StopGradient PreventGradient Bitcast Snapshot "
    "CheckNumerics TensorListFromTensor"
)
SHARING = frozenset(_SHARING.split())
"""Their output is the memory of the input at the same place.

A list of a tensor (`TensorListFromTensor`) is a copy, but the tensor is free once it is made, and
was transposed from another just before: so much lay there then, too. On a CPU it counts as a list
(`as_list`).
"""


def size_of(tensor: Any, batch: int) -> Size:
    """The size of a tensor traced for `batch` samples.

    One whose shape is not known, or a handle, counts as nothing.
    """
    elements = tensor.shape.num_elements() if tensor.shape.rank is not None else None
    if not elements or tensor.dtype.name in ("resource", "variant", "string"):
        return NOTHING
    size = int(elements) * int(tensor.dtype.size)
    return Size(0, size // batch) if elements % batch == 0 else Size(size)


def root(tensor: Any) -> Any:
    """Return the tensor whose memory `tensor` shares."""
    while shared := shared_inputs(tensor.op):
        tensor = shared[tensor.value_index]
    return tensor


def shared_inputs(op: Any) -> Sequence[Any]:
    """Return the inputs whose memory its outputs are, in order; none if they have their own.

    A product with 1.0, as swish makes one, is the other factor: TensorFlow's optimizer of graphs
    leaves it out, forward and back (seen in a trace).
    """
    if op.type in SHARING:
        return list(op.inputs)
    product = op.type == "Mul" and op.outputs[0].dtype.is_floating
    factors = list(op.inputs) if product else []
    for one, other in zip(factors, reversed(factors), strict=True):
        if one.shape.rank == 0 and tf.get_static_value(one) == 1:
            return [other]
    return []


# Loops, which recurrent layers are made of


def body_of(loop: Any) -> Any:
    """Return the graph of a turn of a loop."""
    return while_v2._get_graph(loop, "body", "_body_graph")  # noqa: SLF001 (no public way to it)


def turns_of(loop: Any) -> int:
    """Return how often a loop runs: once per element of its longest input sequence, else once.

    The backward loop reads what the forward loop has put into lists, and runs as many iterations.
    """
    before = [turns_of(x.op) for x in loop.inputs if x.op.type in LOOPS]
    lists = [x.op for x in loop.inputs if x.op.type == "TensorListFromTensor"]
    return max(
        (*before, *(op.inputs[0].shape[0] or 1 for op in lists if op.inputs[0].shape.rank)),
        default=1,
    )


def in_list(tensor: Any, batch: int, unread: frozenset[Any] = frozenset()) -> Size:
    """What is in a list: of a loop, or zeros that the backward loop replaces by gradients.

    Nothing if it is one of those that are `unread`; see `unread_outputs`.
    """
    if tensor.op.type in LOOPS:
        before = root(tensor.op.inputs[tensor.value_index])
        zeros = before.op.type == "ZerosLike"
        return in_list(before, batch) if zeros else collected(tensor, batch, unread)
    if tensor.op.type != "ZerosLike":
        return NOTHING
    like = root(tensor.op.inputs[0])
    while like.op.type in LOOPS:  # which have only read it
        like = root(like.op.inputs[like.value_index])
    return as_list(like, batch)


def as_list(tensor: Any, batch: int) -> Size:
    """What a list of the tensor's elements holds: copies, each in memory of its own."""
    return size_of(tensor, batch)._replace(pieces=tensor.shape[0] if tensor.shape.rank else 1)


def collected(tensor: Any, batch: int, unread: frozenset[Any] = frozenset()) -> Size:
    """What a loop has put into a list when it ends, for the backward pass.

    A tensor per iteration. What it took from another list stays too: the elements are copies of the
    tensor that the list was made of (`TensorListFromTensor`, list_kernels.h). What is put into
    several lists, as for each of a ConvLSTM's four convolutions, lies there once, in the first that
    is not `unread`.
    """
    body = body_of(tensor.op)
    element = _put(body.outputs[tensor.value_index])
    if element is None or (element.op.type in NO_MEMORY and element.op.type != _ELEMENT):
        return NOTHING
    earlier = zip(tensor.op.outputs[: tensor.value_index], body.outputs, strict=False)
    read = [inner for each, inner in earlier if each.ref() not in unread]
    if tensor.ref() in unread or any(_put(inner) is element for inner in read):
        return NOTHING
    size, turns = (
        size_of(element, batch),
        1 if _is_put_twice(element, body) else turns_of(tensor.op),
    )
    return Size(size.fixed * turns, size.per_sample * turns, pieces=turns)


def read_in_turns(tensor: Any, batch: int) -> Size:
    """What a list holds of a variable's values that each turn of a loop reads and puts into it.

    Where the variable is that is its own memory, and nothing besides; elsewhere they are copies.
    """
    if tensor.op.type not in LOOPS or tensor.dtype.name != "variant":
        return NOTHING
    element = _put(body_of(tensor.op).outputs[tensor.value_index])
    if element is None or element.op.type != READING:
        return NOTHING
    turns = turns_of(tensor.op)
    return Size(size_of(element, batch).fixed * turns, pieces=turns)


def put_into_lists(loop: Any, batch: int, unread: frozenset[Any]) -> list[Any]:
    """Return what a turn puts into the lists of a loop that hold something."""
    inner = zip(loop.outputs, body_of(loop).outputs, strict=True)
    lists = [(x, made) for x, made in inner if x.dtype.name == "variant"]
    return [_put(made) for x, made in lists if collected(x, batch, unread) != NOTHING]


def unread_outputs(operations: Sequence[Any], results: Sequence[Any]) -> frozenset[Any]:
    """Return the outputs of loops that nobody needs but the loop itself, turn by turn.

    TensorFlow takes loops apart before it runs them, and leaves out what leads nowhere, such as
    lists of what the gradient of a model's input would be computed from.
    """
    wanted, unread = {x.ref() for x in results}, set[Any]()
    for op in reversed(operations):
        taken = list(op.inputs)
        if op.type in LOOPS:
            places = _needed_places(op, wanted)
            unread |= {x.ref() for place, x in enumerate(op.outputs) if place not in places}
            taken = [x for place, x in enumerate(op.inputs) if place in places]
        wanted |= {x.ref() for x in taken}
    return frozenset(unread)


def _needed_places(loop: Any, wanted: Collection[Any]) -> set[int]:
    """Return the places of what a loop hands from turn to turn that some `wanted` output needs."""
    body = body_of(loop)
    condition = while_v2._get_graph(loop, "cond", "_cond_graph")  # noqa: SLF001 (no public name)
    places = {place for place, x in enumerate(condition.inputs) if x.consumers()}
    places |= {place for place, x in enumerate(loop.outputs) if x.ref() in wanted}
    given = {x.op.name: place for place, x in enumerate(body.inputs)}
    waiting, seen = [body.outputs[place].op for place in places], set[str]()
    waiting += body.control_outputs
    while waiting:
        op = waiting.pop()
        if op.name in seen:
            continue
        seen.add(op.name)
        waiting += [*(x.op for x in op.inputs), *op.control_inputs]
        if (place := given.get(op.name)) is not None and place not in places:
            places.add(place)
            waiting.append(body.outputs[place].op)
    return places


def only_read(loop: Any) -> list[Any]:
    """Return the lists of tensors of which a loop puts no element into another list.

    One of which it does lies in memory once, for the list that it goes into has the same elements.
    """
    body = body_of(loop)
    put = [x.op for x in map(_put, body.outputs) if x is not None and x.op.type == _ELEMENT]
    handed_on = {root(op.inputs[0]).ref() for op in put}
    given = zip(loop.inputs, body.inputs, strict=True)
    return [x for x, inner in given if x.op.type == LISTING and inner.ref() not in handed_on]


def splits_of(operations: Sequence[Any], batch: int) -> tuple[SplitTurns, ...]:
    """Return what the loops among the operations split in each turn that puts tensors into lists.

    Of several splits in a turn the largest, since one piece in a turn is too large (seen in traces
    of LSTMs and GRUs).
    """
    found = []
    for loop in operations:
        if loop.type in LOOPS and any(_put(x) is not None for x in body_of(loop).outputs):
            body = body_of(loop).get_operations()
            some = [_split(op, batch, turns_of(loop)) for op in body if op.type == "Split"]
            found += sorted(some, key=lambda each: each.parts * each.per_sample)[-1:]
    return tuple(found)


def _split(op: Any, batch: int, turns: int) -> SplitTurns:
    return SplitTurns(turns, len(op.outputs), size_of(op.outputs[0], batch).per_sample)


def numbers_kept(loop: Any) -> int:
    """Return how many whole numbers, and shapes, the turns of a loop leave for the way back.

    A shape that two operations ask for lies there once.
    """
    put = [_put(x) for x in body_of(loop).outputs]
    some = [x for x in put if x is not None and x.dtype.is_integer]
    asked = {root(x.op.inputs[0]).ref() if x.op.type == "Shape" else x.ref() for x in some}
    return turns_of(loop) * len(asked)


def _put(given: Any) -> Any:
    """Return the tensor that a turn puts into a list, of which `given` is the next turn's."""
    pushed = root(given).op
    return root(pushed.inputs[1]) if pushed.type == "TensorListPushBack" else None


def _is_put_twice(element: Any, body: Any) -> bool:
    """Whether what a turn got from the one before was put into another list by that one.

    A simple recurrent layer's state is: as the turn's result, and as what the next one begins with.
    """
    states = [n for n, given in enumerate(body.inputs) if given is element]
    made = [root(body.outputs[n]) for n in states if n < len(body.outputs)]
    return any(_put(given) is one for given in body.outputs for one in made)
