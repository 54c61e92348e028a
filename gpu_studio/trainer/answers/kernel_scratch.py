"""The memory that kernels need while they run, besides what they take and make, and save."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gpu_studio.common.practice import CARDS_FILE, library
from gpu_studio.placement.liveness import NOTHING, Size
from gpu_studio.trainer.answers.einsum_copies import copied
from gpu_studio.trainer.answers.last_cache import last_cache_bytes
from gpu_studio.trainer.devices import ONE_DNN
from gpu_studio.trainer.environment import cores

ScratchOf = Callable[[Any, Sequence[Size], Sequence[Size]], Size]
_INDEX_BYTES = 8
_UNROLLED_BYTES = 30 << 20
"""Eigen's convolutions unroll so many images at once that these bytes are full."""
_LEAST_OF_A_THREAD = (256 << 10) // 4
"""Numbers. With more for each thread to multiply, images are unrolled one after the other."""
_MOST_OF_ALL = 25
"""So many times the numbers that a kernel of volumes takes and makes it unrolls at most."""


def scratch_on_cpu(operation: Any, inputs: Sequence[Size], outputs: Sequence[Size]) -> Size:
    """Return the bytes that the operation's CPU kernel needs while it runs.

    `inputs` and `outputs` are the sizes of what it takes and makes. Eigen's kernels are used on
    CPUs for which oneDNN's are off; those need none that TensorFlow counts, or little.
    """
    if operation.type == "Einsum":
        return _of_einsum(operation, inputs, outputs)
    return NOTHING if ONE_DNN else _of_eigen(operation, inputs)


def scratch_on_card(operation: Any, inputs: Sequence[Size], _outputs: Sequence[Size]) -> Size:
    """Return the bytes that the operation's kernel needs while it runs on a card.

    cuDNN's are not known: it chooses its algorithms as it runs. Practice cards have Eigen's
    kernels, which need much more for the gradients of convolutions and pooling. What products
    copy (`_of_einsum`) was not looked at there.
    """
    return NOTHING if library(CARDS_FILE) is None else _of_eigen(operation, inputs)


def _of_eigen(operation: Any, inputs: Sequence[Size]) -> Size:
    """Return the bytes that Eigen's kernel needs, if it is one that needs any."""
    if operation.type.startswith("Conv2DBackprop"):
        return Size(_unrolled(operation))
    if operation.type.startswith("Conv3DBackprop"):
        return _unrolled_volumes(operation)
    return _of_maxima(operation, inputs)


def _of_einsum(operation: Any, inputs: Sequence[Size], outputs: Sequence[Size]) -> Size:
    """Return the bytes of the transposed copies of what the kernel takes, and of the product."""
    moved, turned = copied(operation.get_attr("equation").decode())
    copies = [size for size, each in zip(inputs, moved, strict=True) if each]
    copies += [*outputs] if turned else []
    return Size(sum(each.fixed for each in copies), sum(each.per_sample for each in copies))


def _of_maxima(operation: Any, inputs: Sequence[Size]) -> Size:
    """Eigen's `MaxPoolGrad` pools again to find where each maximum came from.

    It needs 8 bytes per element of the output for the positions (maxpooling_op.cc,
    `tensor_out_arg_max`). oneDNN's keeps the positions of the forward pass.
    """
    if operation.type != "MaxPoolGrad":
        return NOTHING
    copies = _INDEX_BYTES // operation.inputs[1].dtype.size
    return Size(inputs[1].fixed * copies, inputs[1].per_sample * copies)


def pools_again(operation: Any, *, on_cpu: bool) -> bool:
    """Return whether the kernel writes the output of the forward operation, its input 1, anew.

    It does so in that input's memory if nobody else takes it (`tensor_out_dup`).
    """
    eigen = not ONE_DNN if on_cpu else library(CARDS_FILE) is not None
    return operation.type == "MaxPoolGrad" and eigen


def _unrolled(operation: Any) -> int:
    """The bytes of the images that a gradient of a convolution unrolls (`col_buffer`).

    From conv_grad_filter_ops.cc and conv_grad_input_ops.h; measured equal to the byte.
    """
    made, given = operation.outputs[0].shape, operation.inputs[2].shape
    of_filter = operation.type == "Conv2DBackpropFilter"
    window = made if of_filter else operation.inputs[1].shape
    if not window.is_fully_defined() or not given[1:].is_fully_defined():
        return 0
    height, width, filters = given[1:]
    width_of_row = math.prod(window[:3])
    unrolled = height * width * width_of_row
    work = unrolled + height * width * filters + width_of_row * filters
    bytes_each = operation.outputs[0].dtype.size
    alone = not of_filter and work // cores() >= _LEAST_OF_A_THREAD
    images = 1 if alone else -(-(_UNROLLED_BYTES // bytes_each) // work)
    return int(images * unrolled * bytes_each)


def _unrolled_volumes(operation: Any) -> Size:
    """The bytes of the volumes that a gradient of a convolution unrolls (`col_buffer`).

    From conv_grad_ops_3d.cc: as many as fill the processor's last cache, however few are in the
    batch. With few that would be too many times what the kernel takes and makes, and another one
    is used that unrolls none, as always for filters in half precision. The gradient of the input
    unrolls a single volume for a batch of one.
    """
    made, given = operation.outputs[0].shape, operation.inputs[2].shape
    dtype, of_filter = operation.outputs[0].dtype, operation.type == "Conv3DBackpropFilterV2"
    window = made if of_filter else operation.inputs[1].shape
    volume = operation.inputs[0].shape if of_filter else made
    known = window.is_fully_defined() and given[1:].is_fully_defined()
    if not known or (of_filter and dtype.name == "float16"):
        return NOTHING
    places, width_of_row = math.prod(given[1:-1]), math.prod(window[:-1])
    unrolled, weights = places * width_of_row, math.prod(window)
    work = unrolled + places * given[-1] + weights
    every = -(-(last_cache_bytes() // dtype.size) // work) * unrolled
    # Of a sample, and of what is enough of them.
    numbers, enough = math.prod(volume[1:]) + math.prod(given[1:]), every // (_MOST_OF_ALL + 1)
    least = max(0, enough - weights) // numbers + 1
    one = not of_filter and unrolled // (numbers + weights) <= _MOST_OF_ALL
    return Size(every * dtype.size, least=least, alone=unrolled * dtype.size if one else 0)


def workspace_on_cpu(operation: Any, output: Size) -> Size:
    """Return the bytes that a CPU kernel allocates beside its output for the backward pass.

    oneDNN's `MaxPool` records where each maximum came from, in one byte.
    """
    if operation.type != "MaxPool" or not ONE_DNN:
        return NOTHING
    width = operation.outputs[0].dtype.size
    return Size(output.fixed // width, output.per_sample // width)


_OVERWRITING = (
    "Abs Add AddN AddV2 BiasAdd Ceil Cos Div DivNoNan Elu EluGrad Erf Erfc Exp Expm1 Floor "
    "FloorDiv FloorMod Inv LeakyRelu LeakyReluGrad Log Log1p LogSoftmax LogicalAnd LogicalNot "
    "LogicalOr Maximum Minimum Mul MulNoNan Neg Pow RealDiv Reciprocal Relu Relu6 Relu6Grad "
    "ReluGrad Round Rsqrt RsqrtGrad Select SelectV2 Selu SeluGrad Sigmoid SigmoidGrad Sign Sin "
    "Softmax Softplus SoftplusGrad Softsign SoftsignGrad SparseSoftmaxCrossEntropyWithLogits Sqrt "
    "SqrtGrad Square SquaredDifference Sub Tanh TanhGrad Xdivy Xlogy"
)
OVERWRITING = frozenset(_OVERWRITING.split())
"""Their kernels may reuse an input of the same size (`forward_input_or_allocate_output`).

They do so if nobody else takes that input.
"""
