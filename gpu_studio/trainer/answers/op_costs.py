"""The cost of one TensorFlow operation: its FLOPs, and its kernel's own memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorflow.python.framework import ops

# Registers what its operations cost.
from tensorflow.python.profiler.internal import flops_registry  # noqa: F401
from tensorflow.python.util import _pywrap_util_port

from gpu_studio.placement.liveness import NOTHING, Size

_SHARING = (
    "Reshape Identity IdentityN Squeeze ExpandDims StopGradient PreventGradient "
    "Bitcast Snapshot CheckNumerics "
    "TensorListFromTensor"
)
SHARING = frozenset(_SHARING.split())
"""Their output is the memory of the input at the same place."""

_OVERWRITING = (
    "Abs Add AddN AddV2 BiasAdd Ceil Cos Div DivNoNan Elu EluGrad Erf Erfc Exp Expm1 Floor "
    "FloorDiv FloorMod "
    "Inv LeakyRelu LeakyReluGrad Log Log1p LogSoftmax LogicalAnd LogicalNot LogicalOr Maximum "
    "Minimum Mul MulNoNan "
    "Neg Pow RealDiv Reciprocal Relu Relu6 Relu6Grad ReluGrad Round Rsqrt RsqrtGrad Select "
    "SelectV2 Selu SeluGrad "
    "Sigmoid SigmoidGrad Sign Sin Softmax Softplus SoftplusGrad Softsign SoftsignGrad "
    "SparseSoftmaxCrossEntropyWithLogits Sqrt SqrtGrad Square SquaredDifference "
    "Sub Tanh TanhGrad Xdivy Xlogy"
)
OVERWRITING = frozenset(_OVERWRITING.split())
"""Their kernels call `forward_input_or_allocate_output`.

An input of the same size that nobody else takes is reused.
"""

_ELEMENTWISE = OVERWRITING - {
    "Softmax",
    "LogSoftmax",
    "AddN",
    "BiasAdd",
    "SparseSoftmaxCrossEntropyWithLogits",
}
_INDEX_BYTES = 8
_ONE_DNN = bool(_pywrap_util_port.IsMklEnabled())
"""Whether oneDNN's kernels take the place of Eigen's, as they do on CPUs that have instructions for
them.
"""


def flops(operation: Any) -> float:
    """Floating-point operations of one operation of a graph, a multiplication and an addition
    counting as two.

    They are those of TensorFlow's own profiler (`RegisterStatistics(…, "flops")`). Where it knows
    none, an elementwise operation counts one for each element, and an `Einsum` two for each of its
    products. Loops are not looked into.
    """
    if operation.type == "Einsum":
        return _einsum(operation)
    try:
        counted = ops.get_stats_for_node_def(operation.graph, operation.node_def, "flops").value
    except (ValueError, AttributeError, ZeroDivisionError):  # a shape that is not known
        return 0.0
    if counted is None and operation.type in _ELEMENTWISE:
        return float(_elements(operation.outputs[0]))
    return float(counted or 0)


def scratch_on_cpu(operation: Any, inputs: Sequence[Size]) -> Size:
    """Return the bytes that the operation's CPU kernel needs while it runs.

    `inputs` are the sizes of its inputs. Eigen's `MaxPoolGrad` pools again to find where each
    maximum came from: it needs a copy of the output, and 8 bytes per element for the positions
    (maxpooling_op.cc, `tensor_out_dup` and `tensor_out_arg_max`). oneDNN's kernel keeps the
    positions of the forward pass.
    """
    if operation.type != "MaxPoolGrad" or _ONE_DNN:
        return NOTHING
    copies = 1 + _INDEX_BYTES // operation.inputs[1].dtype.size
    return Size(inputs[1].fixed * copies, inputs[1].per_sample * copies)


def workspace_on_cpu(operation: Any, output: Size) -> Size:
    """Return the bytes that a CPU kernel allocates beside its output for the backward pass.

    oneDNN's `MaxPool` records where each maximum came from, in one byte.
    """
    if operation.type != "MaxPool" or not _ONE_DNN:
        return NOTHING
    width = operation.outputs[0].dtype.size
    return Size(output.fixed // width, output.per_sample // width)


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


def _elements(tensor: Any) -> int:
    return int(tensor.shape.num_elements() or 0)
