"""A device ran out of memory: which one, for which layer, what it held, and what to change."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from math import prod

from gpu_studio.common.figures import size
from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.contract.events import DeviceMemory, Failed
from gpu_studio.contract.failure_mends import against_want_of_memory, offered
from gpu_studio.contract.failure_texts import device_in
from gpu_studio.contract.full_disk import refusal_of_disk
from gpu_studio.trainer.failures.failure_context import FailureContext, failing_layer

_OOM = re.compile(r"OOM when allocating tensor with shape\[([\d,]*)\] and type (\w+)")
_BYTES = {
    "float": 4,
    "half": 2,
    "bfloat16": 2,
    "double": 8,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "bool": 1,
}
# A function compiled by XLA allocates its memory in one piece.
_WHOLE = re.compile(r"Out of memory while trying to allocate (\d+) bytes")
# CUDA's libraries allocate outside of TensorFlow's memory, which is nearly all of a card.
_BESIDE = re.compile(r"(?:CUDNN|CUBLAS)_STATUS_ALLOC_FAILED|CUDA_ERROR_OUT_OF_MEMORY")
HOST = "host"

ADVICE = (
    "Make training.batch_size smaller: half of it needs about half the memory for activations.",
    "Give the device more: a larger slice in devices.carve, fewer slices, or no carve.",
    "Set training.mixed_precision to true.",
    (
        "Choose a smaller model, or spread its layers over the devices with "
        "distribution.strategy = placed."
    ),
    "Look who else uses the card: nvidia-smi.",
)
WEIGHTS_ADVICE = (
    (
        "The weights alone do not fit: choose a smaller model, or spread its layers with "
        "distribution.strategy = placed."
    ),
    "Give the device more: a larger slice in devices.carve, fewer slices, or no carve.",
    "Choose an optimizer that keeps less for each weight: sgd keeps nothing, adam twice the weight.",
    "Look who else uses the card: nvidia-smi.",
)
"""For a model that found no room before its first step, where a smaller batch would not help."""
BESIDE_ADVICE = (
    (
        "Leave room on the card for CUDA's libraries: set devices.memory_growth "
        "to true, or make the slices smaller."
    ),
    *ADVICE,
)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether TensorFlow's words say that a device's allocator had no memory left.

    A full disk raises an error of the same type, and does not count.
    """
    if refusal_of_disk(error):
        return False
    text = str(error)
    return (
        type(error).__name__ == "ResourceExhaustedError"
        or "OOM when allocating" in text
        or bool(_beside(text))
    )


def out_of_memory(error: BaseException, context: FailureContext, trace: str) -> Failed:
    """The `failed` event, from the error and from what is known of the run."""
    text = str(error)
    device, shape = device_in(text), _shape(text)
    layer = failing_layer(error, context.layers, shape)
    memory = context.memory()
    return Failed(
        message=f"Out of memory{_where(device, layer)}{_wanted(text)}.{_held(device, context, memory)}",
        suggestions=list(_advice(text, context)),
        traceback=trace,
        device=device,
        kind="out_of_memory",
        layer=layer,
        mends=_mends(text, device, context, memory),
    )


def _beside(text: str) -> str:
    """Return the words in which a CUDA library says that it got no memory; empty if none does."""
    found = _BESIDE.search(text)
    return found[0] if found and not _OOM.search(text) else ""


def _advice(text: str, context: FailureContext) -> Sequence[str]:
    if _beside(text):
        return BESIDE_ADVICE
    return ADVICE if context.session is not None or context.plan is None else WEIGHTS_ADVICE


def _mends(
    text: str, device: str | None, context: FailureContext, memory: Sequence[DeviceMemory]
) -> list[SuggestedChange]:
    """Return changes of the plan that free memory or make a step smaller.

    There are none before the first step.
    """
    if context.plan is None:
        return []
    growth = (
        [SuggestedChange(text="Memory growth", field="devices.memory_growth", value=True)]
        if _beside(text)
        else []
    )
    smaller = (
        against_want_of_memory(context.plan, device, context.logical, memory)
        if context.session
        else []
    )
    return [*offered(context.plan, growth), *smaller]


def _where(device: str | None, layer: str | None) -> str:
    return f" on {device or 'a device'}" + (f", in the layer {layer}" if layer else "")


def _shape(text: str) -> tuple[int, ...] | None:
    found = _OOM.search(text)
    return tuple(int(size) for size in found[1].split(",") if size) if found else None


def _wanted(text: str) -> str:
    found = _OOM.search(text)
    if not found:
        whole = _WHOLE.search(text)
        asked = f": there was no room for another {size(int(whole[1]))}" if whole else ""
        beside = (
            f": CUDA's libraries found no room beside TensorFlow's ({_beside(text)})"
            if _beside(text)
            else ""
        )
        return asked or beside
    shape, kind = found.groups()
    count = prod(_shape(text) or ())
    amount = size(count * _BYTES[kind]) if kind in _BYTES else f"{count} numbers"
    return f": there was no room for another {amount} (a tensor of shape [{shape}], {kind})"


def _held(device: str | None, context: FailureContext, memory: Sequence[DeviceMemory]) -> str:
    rows = {row.device: row for row in memory}
    mine = rows.get(device or "")
    arena = mine if mine is not None and mine.source == "allocator" else rows.get(HOST)
    if arena is None:
        return _held_by_allocator(device)
    whole = f" of its {size(arena.limit)}" if arena.limit else ""
    where = "of the computer's memory" if arena.source == HOST else "there"
    weights = _weights(device, context)
    part = (
        f"; {size(weights)} of it are the weights and the optimizer's state on {device}"
        if weights
        else ""
    )
    return f" At most {size(arena.peak)}{whole} were in use {where}{part}."


def _held_by_allocator(device: str | None) -> str:
    """What the allocator reports where the run ended before it was measured."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or device is None:
        return ""
    try:
        peak = int(tensorflow.config.experimental.get_memory_info(device)["peak"])
    except Exception:  # noqa: BLE001  (a figure that cannot be had must not hide the failure)
        return ""
    return f" At most {size(peak)} were in use there." if peak else ""


def _weights(device: str | None, context: FailureContext) -> int:
    if context.session is None:
        return 0
    from gpu_studio.trainer.memory import bytes_by_device

    return bytes_by_device(context.session.program.storage).get(device or "", 0)
