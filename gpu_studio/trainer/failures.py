"""What went wrong, in a plain sentence, with what to try."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence

from gpu_studio.runs.events import Failed
from gpu_studio.trainer.errors import TrainerError

_DEVICE = re.compile(r"device:([A-Z]+:\d+)")
_OOM = re.compile(r"OOM when allocating tensor with shape\[([\d,]*)\] and type (\w+)")
_LAYER = re.compile(r"Exception encountered when calling (?:layer ['\"]?)?([\w./]+)")
_BYTES = {"float": 4, "half": 2, "bfloat16": 2, "double": 8, "int32": 4, "int64": 8, "uint8": 1, "bool": 1}

OUT_OF_MEMORY_ADVICE = (
    "Make training.batch_size smaller: half of it needs about half the memory for activations.",
    "Give the device more: a larger slice in devices.carve, fewer slices, or no carve.",
    "Set training.mixed_precision to true, or choose a smaller model.",
    "Look who else uses the card: nvidia-smi.",
)


def explain(error: BaseException) -> Failed:
    """The `failed` event for an exception that ended the run."""
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, TrainerError):
        return Failed(message=error.message, suggestions=list(error.suggestions), traceback=trace)
    if _is_out_of_memory(error):
        return _out_of_memory(str(error), trace)
    message, suggestions = _plain(error)
    return Failed(message=message, suggestions=list(suggestions), traceback=trace, device=_device(str(error)))


def _is_out_of_memory(error: BaseException) -> bool:
    return type(error).__name__ == "ResourceExhaustedError" or "OOM when allocating" in str(error)


def _out_of_memory(text: str, trace: str) -> Failed:
    device = _device(text)
    wanted = _wanted(text)
    where = f"on {device}" if device else "on a device"
    message = f"Out of memory {where}: {wanted}." if wanted else f"Out of memory {where}."
    return Failed(message=message, suggestions=list(OUT_OF_MEMORY_ADVICE), traceback=trace, device=device)


def _wanted(text: str) -> str | None:
    found = _OOM.search(text)
    if not found:
        return None
    shape, kind = found.groups()
    count = 1
    for size in filter(None, shape.split(",")):
        count *= int(size)
    size_text = binary_size(count * _BYTES[kind]) if kind in _BYTES else f"{count} numbers"
    return f"there was no room for another {size_text} (a tensor of shape [{shape}], {kind})"


def binary_size(size: int) -> str:
    """A number of bytes in KiB, MiB or GiB."""
    value = float(size)
    for unit in ("bytes", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} GiB"


def _device(text: str) -> str | None:
    found = _DEVICE.search(text)
    return found.group(1) if found else None


def _plain(error: BaseException) -> tuple[str, Sequence[str]]:
    if isinstance(error, MemoryError):
        return "The machine ran out of memory (RAM) in the trainer.", (
            "Close other programs, or train on fewer samples.",
            "Make training.batch_size smaller.",
        )
    if isinstance(error, OSError):
        return f"The system refused: {error}.", ("Look whether the disk is full, and whether the files can be read.",)
    layer = _LAYER.search(str(error))
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if layer:
        return f"The layer {layer.group(1)} could not compute: {first}", (
            "Hold the shape of the data against the model's input.",
            "The traceback names the line.",
        )
    return f"Training ended with {type(error).__name__}: {first}", ("The traceback and trainer.log say where.",)
