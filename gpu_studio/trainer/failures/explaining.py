"""Explain what went wrong: a plain sentence, what to try, and changes of the plan that may help.

Where a device ran out of memory: which one, for which layer, what it held, and what to change.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Sequence
from math import prod

from gpu_studio.common.figures import size
from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.contract.events import DeviceMemory, Failed, StateChanged
from gpu_studio.contract.failure_mends import (
    against_divergence,
    against_want_of_memory,
    offered,
    without_device,
)
from gpu_studio.contract.failure_texts import (
    NO_ROOM_TO_LOAD,
    ROOM_TO_LOAD,
    LostDevice,
    advice_for,
    device_in,
    lost_device_in,
    refusal_of_disk,
)
from gpu_studio.trainer.errors import NotFiniteError, TrainerError, UserCodeError
from gpu_studio.trainer.failures.failure_context import (
    FailureContext,
    NotFiniteFinding,
    failing_layer,
)

_LAYER = re.compile(r"Exception encountered when calling (?:layer ['\"]?)?([\w./]+)")


def explain(error: BaseException, context: FailureContext | None = None) -> Failed:
    """Return the `failed` event for the exception that ended the run that `context` describes."""
    context = context or FailureContext()
    if isinstance(error, UserCodeError):
        return _user_code(error, context)
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, NotFiniteError):
        return _not_finite(error, context, trace)
    if isinstance(error, TrainerError):
        return Failed(
            message=error.message,
            suggestions=list(error.suggestions),
            traceback=trace,
            kind=error.kind,
            mends=list(error.mends),
        )
    if is_out_of_memory(error):
        return out_of_memory(error, context, trace)
    lost = lost_device_in(str(error))
    if lost is not None:
        return device_lost(error, lost, context, trace)
    if refusal := refusal_of_disk(error):
        message = f"A disk took no more ({refusal}): {_first_line(error)}"
        return Failed(
            message=message, suggestions=[advice_for(refusal)], traceback=trace, kind="disk"
        )
    kind, message, suggestions = _plain(error)
    return Failed(message=message, suggestions=list(suggestions), traceback=trace, kind=kind)


def _not_finite(error: NotFiniteError, context: FailureContext, trace: str) -> Failed:
    """Return the failure, with the findings of repeating the last steps."""
    finding = _inquire(error, context)
    return Failed(
        message=f"{error.message} {finding.words}" if finding else error.message,
        suggestions=list(error.suggestions),
        traceback=trace,
        kind=error.kind,
        layer=finding.look.layer if finding else None,
        mends=against_divergence(context.plan) if context.plan else [],
    )


def _inquire(error: NotFiniteError, context: FailureContext) -> NotFiniteFinding | None:
    if context.session is None or context.run is None or context.hurried():
        return None
    from gpu_studio.trainer.failures.step_examination import examine_steps

    context.tell(StateChanged(state="stopping", reason="looking for the layer that gave way"))
    try:
        return examine_steps(
            context.session, context.run, context.base, error.step, context.hurried
        )
    except Exception:  # noqa: BLE001  (the failure must be reported, whatever goes wrong here)
        return None


def _user_code(error: UserCodeError, context: FailureContext) -> Failed:
    cause = error.__cause__
    if cause is not None and _is_the_machines(cause):
        return explain(cause, context)  # what the machine did to the run explains it better
    return Failed(
        message=error.message,
        suggestions=list(error.suggestions),
        traceback=error.trace or str(error),
        kind=error.kind,
    )


def _is_the_machines(cause: BaseException) -> bool:
    return (
        is_out_of_memory(cause)
        or lost_device_in(str(cause)) is not None
        or bool(refusal_of_disk(cause))
    )


def _plain(error: BaseException) -> tuple[str, str, Sequence[str]]:
    if isinstance(error, MemoryError):
        return (
            "host_memory",
            "The machine ran out of memory (RAM) in the trainer.",
            (
                "Close other programs, or train on fewer samples.",
                "Make training.batch_size smaller.",
            ),
        )
    if isinstance(error, OSError):
        advice = ("Look whether the disk is full, and whether the files can be read.",)
        return "system", f"The system refused: {error}.", advice
    if isinstance(error, ImportError) and re.search(NO_ROOM_TO_LOAD, str(error)):
        return (
            "host_memory",
            f"There was not enough memory to load a library: {error}.",
            ROOM_TO_LOAD,
        )
    if isinstance(error, ImportError):
        advice = ("Install what is missing into the Python that trains.",)
        return "import", f"The trainer could not start: {error}.", advice
    layer = _LAYER.search(str(error))
    first = _first_line(error)
    if layer:
        return (
            "layer",
            f"The layer {layer.group(1)} could not compute: {first}",
            (
                "Hold the shape of the data against the model's input.",
                "The traceback names the line.",
            ),
        )
    return (
        "",
        f"Training ended with {type(error).__name__}: {first}",
        ("The traceback and trainer.log say where.",),
    )


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def device_lost(
    error: BaseException, found: LostDevice, context: FailureContext, trace: str
) -> Failed:
    """The failure of a card that `lost_device_in` found in the error."""
    device = device_in(str(error)) or _only_card(context)
    where = f"{device} failed" if device else "A card failed"
    return Failed(
        message=f"{where} while it trained: {found.why} ({found.words}).",
        suggestions=[_go_on(context), *found.suggestions],
        traceback=trace,
        device=device,
        kind="device_lost",
        layer=failing_layer(error, context.layers),
        mends=without_device(context.plan, device, context.replicas)
        if context.plan and device
        else [],
    )


def _only_card(context: FailureContext) -> str | None:
    """Return the only card that takes part, where the error does not name one."""
    cards = [name for name in context.replicas if name.startswith("GPU")]
    return cards[0] if len(cards) == 1 else None


def _go_on(context: FailureContext) -> str:
    others = (
        "on the other devices"
        if len(context.replicas) > 1
        else "once the card answers again, or on the CPU"
    )
    return f"Resume from the last checkpoint {others}."


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
    (
        "Choose an optimizer that keeps less for each weight: sgd keeps nothing, adam twice the "
        "weight."
    ),
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
    held = _held(device, context, memory)
    return Failed(
        message=f"Out of memory{_where(device, layer)}{_wanted(text)}.{held}",
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
    from gpu_studio.trainer.devices import bytes_by_device

    return bytes_by_device(context.session.program.storage).get(device or "", 0)
