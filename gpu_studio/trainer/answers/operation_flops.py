"""What one operation of a TensorFlow graph costs."""

from __future__ import annotations

import math
from typing import Any

from tensorflow.python.framework import ops

# Registers what operations cost.
from tensorflow.python.profiler.internal import flops_registry  # noqa: F401

from gpu_studio.trainer.answers.kernel_scratch import OVERWRITING

_ELEMENTWISE = OVERWRITING - {
    "Softmax",
    "LogSoftmax",
    "AddN",
    "BiasAdd",
    "SparseSoftmaxCrossEntropyWithLogits",
}
_PRODUCTS = ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")


def flops(operation: Any) -> float:
    """The floating-point operations of one operation of a graph.

    A multiplication and an addition count as two. The numbers are those of TensorFlow's own
    profiler (`RegisterStatistics(…, "flops")`), but for products of many matrices, which it takes
    for untransposed. Where it has none, an elementwise operation counts one for each element, and
    an `Einsum` two for each of its products. Loops are not looked into.
    """
    if operation.type == "Einsum":
        return _einsum(operation)
    if operation.type in _PRODUCTS:
        return _product(operation)
    try:
        counted = ops.get_stats_for_node_def(operation.graph, operation.node_def, "flops").value
    except (ValueError, AttributeError, ZeroDivisionError):  # a shape that is not known
        return 0.0
    if counted is None and operation.type in _ELEMENTWISE:
        return float(_elements(operation.outputs[0]))
    return float(counted or 0)


def _einsum(operation: Any) -> float:
    """Return two FLOPs for each combination of all indices, as one loop over each would cost."""
    equation = operation.get_attr("equation").decode()
    sizes: dict[str, int] = {}
    for labels, tensor in zip(
        equation.partition("->")[0].split(","), operation.inputs, strict=False
    ):
        if "." in labels or tensor.shape.rank != len(labels):
            return 2.0 * _elements(operation.outputs[0])
        sizes.update(zip(labels, tensor.shape.as_list(), strict=True))
    return 2.0 * math.prod(size or 1 for size in sizes.values())


def _product(operation: Any) -> float:
    """Return two FLOPs for each number of a row of the first matrix with each of the output."""
    shape = operation.inputs[0].shape
    if not shape.rank:
        return 0.0
    summed = shape[-2 if operation.get_attr("adj_x") else -1] or 0
    return 2.0 * summed * _elements(operation.outputs[0])


def _elements(tensor: Any) -> int:
    return int(tensor.shape.num_elements() or 0)
