"""The constants that a step's graph keeps in memory on a CPU, from its first step to its last.

They are small, and hundreds: of a small recurrent layer they take as much as the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tensorflow.python.ops import while_v2

from gpu_studio.placement.step_memory import UNIT
from gpu_studio.trainer.answers.graph_tensors import LOOPS, body_of

OF_LOOP = 15
"""The pieces that constants have of a run's loop over steps, in which the step is not traced."""
_KEPT_BYTES = 1024
_LAST = -1
_REDUCTIONS = "All Any Max Mean Min Prod Sum"
_LOOKED_AT: dict[str, Sequence[int]] = {
    **dict.fromkeys(_REDUCTIONS.split(), (1,)),
    "ArgMax": (1,),
    "BroadcastTo": (1,),
    "ConcatV2": (_LAST,),
    "Conv2DBackpropFilter": (1,),
    "Conv2DBackpropInput": (0,),
    "ExpandDims": (1,),
    "Fill": (0,),
    "GatherV2": (2,),
    "OneHot": (1,),
    "Pad": (1,),
    "PadV2": (1,),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "ReverseV2": (1,),
    "Slice": (1, 2),
    "Split": (0,),
    "SplitV": (1, 2),
    "StatelessRandomNormalV2": (0,),
    "StatelessRandomUniformV2": (0,),
    "StridedSlice": (1, 2, 3),
    "StridedSliceGrad": (0,),
    "TensorListFromTensor": (1,),
    "TensorListGetItem": (2,),
    "TensorListPopBack": (1,),
    "TensorListReserve": (0,),
    "TensorListStack": (1,),
    "Tile": (1,),
    "Transpose": (1,),
    "UnsortedSegmentSum": (2,),
}
"""The inputs whose values tell the shape of what an operation makes."""


def constants_of(graph: Any) -> list[int]:
    """Return the bytes of each piece that constants have, of the graph and of its loops.

    An operation keeps its constant (constant_op.cc), one for all that are alike, as TensorFlow's
    optimizer of graphs leaves them. A graph in the making keeps those once more, up to a size, that
    it looks at to tell shapes (`const_tensor_map_`, shape_refiner.h). In a run those of its loop
    over steps are there too.
    """
    sizes = (size for x in _graphs(graph) for size in (*_of_operations(x), *_looked_at(x)))
    return [*sizes, *[UNIT] * OF_LOOP]


def _graphs(graph: Any) -> Iterator[Any]:
    yield graph
    for loop in graph.get_operations():
        if loop.type in LOOPS:
            yield from _graphs(body_of(loop))
            yield from _graphs(while_v2._get_graph(loop, "cond", "_cond_graph"))  # noqa: SLF001


def _of_operations(graph: Any) -> Iterator[int]:
    constants = (each for each in graph.get_operations() if each.type == "Const")
    alike = {each.get_attr("value").SerializeToString(): each for each in constants}
    return (_bytes(each.outputs[0]) for each in alike.values())


def _looked_at(graph: Any) -> Iterator[int]:
    looked = (
        each.inputs[place]
        for each in graph.get_operations()
        for place in _LOOKED_AT.get(each.type, ())
    )
    constants = {x.ref(): x for x in looked if x.op.type == "Const"}
    return (size for size in map(_bytes, constants.values()) if size < _KEPT_BYTES)


def _bytes(tensor: Any) -> int:
    elements = tensor.shape.num_elements() or 0
    return max(UNIT, int(elements * tensor.dtype.size))
