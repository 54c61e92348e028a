"""Want of memory in what CUDA, cuDNN and cuBLAS could not do: whether it is that, and its words.

cuDNN says so where it tried algorithms, and CUDA where it could not start. Of a recurrent layer and
of a product of matrices the words name no cause: the allocator's in the run's log, its figures and
the recording of the card do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from gpu_studio.common.figures import MIB, size
from gpu_studio.contract import DeviceMemory, last_lines_if_any
from gpu_studio.contract.failure_texts import (
    AllocationRefusal,
    LibraryTask,
    bytes_in,
    device_in,
    library_failure_in,
    refusals_in,
)
from gpu_studio.trainer.failures.failure_context import FailureContext
from gpu_studio.trainer.failures.machine_recording import holders, is_full

_LAST_BYTES = 256 * 1024
GUARDS: Final = 16 * MIB
"""Bytes that TensorFlow lays around what an algorithm on trial writes, to see that it keeps to it.

They are part of what a trial is refused, and the next piece of the same trial needs as much."""
WITHOUT_GUARDS: Final[Mapping[str, str]] = {
    "TF_CUDNN_WORKSPACE_LIMIT_IN_MB": "8",
    "TF_DISABLE_RZ_CHECK": "1",
}
"""Variables of TensorFlow's with which the first step holds half of it or a little more.

Measured on an H100, in MiB: a small CNN 45 in place of 114, ResNet-20 226 of 365, a U-Net 395 of
748."""
_NEARLY_ALL = 0.95
"""The share of its memory from which on a device counts as full, if only the figures say so."""
_CUBLAS_WITHOUT_MEMORY = re.compile(
    r"failed to create cublas handle: [^\n]*resource allocation failed|CUBLAS_STATUS_ALLOC_FAILED"
)
_CUDNN_WITHOUT_MEMORY = "CUDNN_STATUS_ALLOC_FAILED"
_LESS_FOR_TRIALS = (
    f"Start the run with {' '.join(f'{name}={value}' for name, value in WITHOUT_GUARDS.items())} "
    "in its environment: cuDNN then tries its algorithms in less memory."
)
_WHO = "Look who holds it: gpu-studio devices, or nvidia-smi."
_ANOTHER_CARD = "Choose another card in devices.visible."
_WAIT = "Or let the run wait until a card is free: gpu-studio queue add."
_WORDS: Final[Mapping[LibraryTask, tuple[str, str]]] = {
    "algorithm": (
        "cuDNN found no algorithm that works",
        "The traceback gives cuDNN's reason for each. Look whether the driver suits it: nvidia-smi",
    ),
    "recurrent": (
        "cuDNN could not compute the sequence, and gave no reason",
        "Look in trainer.log for what cuDNN said, and whether the driver suits it: nvidia-smi",
    ),
    "product": (
        "cuBLAS did not start on the card",
        "Look whether the card is full, with nvidia-smi, and in trainer.log for what cuBLAS said.",
    ),
}


def lacked(text: str, context: FailureContext) -> bool:
    """Whether an error tells of a library's task that failed because a device had no memory."""
    found = library_failure_in(text)
    if found is None:
        return False
    if found.task == "recurrent":
        # Without a log, and where the allocator's caller could have done without, the figures say.
        return (
            bool(refusals(text, context))
            or _CUDNN_WITHOUT_MEMORY in _log(context)
            or (_may_lack(context) and bool(_full(context)))
        )
    if found.task == "product":
        device = device_of(text, context)
        cards = [device] if device else [each.name for each in context.logical]
        return bool(_CUBLAS_WITHOUT_MEMORY.search(_log(context))) or any(
            is_full(context, each) for each in cards
        )
    return found.without_memory


def refusals(text: str, context: FailureContext) -> list[AllocationRefusal]:
    """What allocators refused, the last first, in the words that they wrote into the run's log.

    What they refused in processes of the run that ended before counts for nothing; what the caller
    could have done without counts if it was cuDNN, and its trials all failed.
    """
    found = library_failure_in(text)
    return list(refusals_in(_log(context), found.sizes if found else ()))


def device_of(text: str, context: FailureContext) -> str | None:
    """The device without memory, where neither the error nor an allocator says it, if one can be.

    It is the one that the library names, the only card, or the only one that is full.
    """
    found = library_failure_in(text)
    if found is None:
        return None
    name = found.device or device_in(text)
    named = [name] if name else []
    cards = [each.name for each in context.logical if each.name.startswith("GPU")]
    several = (named, cards, _full(context, asked(text)))
    return next((names[0] for names in several if len(names) == 1), None)


def asked(text: str) -> int:
    """The bytes that a trial of an algorithm needs at least; 0 if an error does not say it."""
    found = library_failure_in(text)
    most = max(map(bytes_in, found.sizes), default=0) if found else 0
    return most + _guards() if most else 0


def _guards() -> int:
    return 0 if os.environ.get("TF_DISABLE_RZ_CHECK") == "1" else GUARDS


def wanted(text: str, refusal: AllocationRefusal | None, context: FailureContext) -> str:
    """What there was no memory for, as the end of a sentence; empty if no library asked for it."""
    found = library_failure_in(text)
    if found is None:
        return ""
    if found.task == "start":
        who = holders(context, found.device or "")
        held = f"its memory is {who}" if who else "other programs hold the card's memory"
        return f": {held}, and CUDA found none to start with"
    if found.task == "recurrent":
        amount = f"another {size(refusal.bytes)}" if refusal and refusal.bytes else "memory"
        return f": there was no room for {amount}, in which cuDNN computes the layer"
    if found.task == "algorithm" and found.without_memory:
        most = max(map(bytes_in, found.sizes), default=0)
        amount = f"another {size(most)}" if most else "the workspace"
        guards = f" (each with {size(_guards())} of guards around it)" if _guards() else ""
        return f": there was no room for {amount}, in which cuDNN tries its algorithms{guards}"
    return ""


def advice(text: str, context: FailureContext) -> Iterator[str]:
    """What helps against want of memory in this task only."""
    found = library_failure_in(text)
    tries = found is not None and found.task == "algorithm" and found.without_memory
    if tries and not WITHOUT_GUARDS.items() <= os.environ.items():
        yield _LESS_FOR_TRIALS
    if never_began(text):
        yield _WHO
        yield _ANOTHER_CARD
        if context.run is not None:
            yield _WAIT


def never_began(text: str) -> bool:
    """Whether CUDA found no memory to start: nothing that a plan holds is to blame."""
    found = library_failure_in(text)
    return found is not None and found.task == "start"


def words_of_library(text: str) -> tuple[str, str] | None:
    """What a library failed to do, if it was not for want of memory, and what to look at."""
    found = library_failure_in(text)
    if found is None or found.task not in _WORDS:
        return None
    what, look = _WORDS[found.task]
    return f"{what} ({found.words})", look


def _log(context: FailureContext) -> str:
    """The end of what this process wrote into the run's log."""
    if context.run is None:
        return ""
    lines = last_lines_if_any(context.run.log_file, _LAST_BYTES, context.log_began)
    return b"\n".join(lines).decode("utf-8", "replace")


def _may_lack(context: FailureContext) -> bool:
    """Whether there is no log, or one in which an allocator refused what it took for harmless."""
    return context.run is None or "ran out of memory trying to allocate" in _log(context)


def _full(context: FailureContext, more: int = 0) -> Sequence[str]:
    """The cards whose peak leaves nearly nothing of their limit, or no memory for `more` bytes."""
    return [
        row.device
        for row in context.memory()
        if row.source == "allocator" and row.device.startswith("GPU") and _is_full(row, more)
    ]


def _is_full(row: DeviceMemory, more: int) -> bool:
    limit = row.limit or 0
    return bool(limit) and (
        row.peak >= limit * _NEARLY_ALL or bool(more and row.peak + more > limit)
    )
