"""Recognise a card that failed during a run, from the words of CUDA and TensorFlow."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CODE = re.compile(r"(?:CUDA_ERROR|cudaError)_?(?P<code>\w+)")
# Without a CUDA error code: TensorFlow's event manager, its synchronisation, cuDNN, the driver.
_WORDS = re.compile(
    r"Unexpected Event status: 1|GPU sync failed|CUDNN_STATUS_EXECUTION_FAILED|GPU "
    r"is lost|fallen off the bus"
    r"|GPU_IS_LOST|Failed to enqueue async memcpy"
)
# A machine without a card reports so at the start, with a CUDA error code, and trains on its CPU.
_START = re.compile(r"^.*cuInit.*$", re.MULTILINE)
_HARDWARE = "Look at the kernel's log for an XID, with: dmesg | grep -i xid"
_RESTART = "Restart the machine, or reset the card, with: sudo nvidia-smi --gpu-reset -i INDEX"
_DRIVER = "Look whether the driver was updated or reloaded under the run, with: nvidia-smi"

_MEANINGS = (
    (
        "ECC_UNCORRECTABLE",
        "its memory has an error that could not be corrected (ECC)",
        (_RESTART, _HARDWARE),
    ),
    (
        "NVLINK_UNCORRECTABLE",
        "its NVLink has an error that could not be corrected",
        (_RESTART, _HARDWARE),
    ),
    ("HARDWARE_STACK_ERROR", "its hardware failed", (_RESTART, _HARDWARE)),
    (
        "LAUNCH_TIMEOUT",
        "the display's watchdog ended a computation that took too long",
        ("Train on a card that drives no display, or with a smaller training.batch_size.",),
    ),
    ("ILLEGAL_ADDRESS", "a computation reached beyond its memory", (_DRIVER, _HARDWARE)),
    ("ILLEGAL_INSTRUCTION", "it was given an instruction that it does not have", (_DRIVER,)),
    ("MISALIGNED_ADDRESS", "a computation reached beyond its memory", (_DRIVER, _HARDWARE)),
    ("LAUNCH_FAILED", "a computation on it crashed", (_HARDWARE, _DRIVER)),
    ("NO_DEVICE", "the driver no longer has it", (_RESTART, _HARDWARE)),
    ("DEVICE_UNAVAILABLE", "the driver no longer lets it be used", (_HARDWARE, _RESTART)),
    ("DevicesUnavailable", "the driver no longer lets it be used", (_HARDWARE, _RESTART)),
    ("UNKNOWN", "the driver gave no reason", (_HARDWARE, _RESTART)),
)
_GONE = ("GPU is lost", "fallen off the bus", "GPU_IS_LOST")


@dataclass(frozen=True, slots=True)
class LostDevice:
    """What happened to a card: `why` (`a computation on it crashed`), and the reported words."""

    why: str
    words: str
    suggestions: tuple[str, ...]


def lost_device_in(text: str) -> LostDevice | None:
    """The card failure that an error or the end of a log reports; None if it reports none.

    Running out of memory (`CUDA_ERROR_OUT_OF_MEMORY`) is not such a failure.
    """
    text = _START.sub("", text)
    for found in _CODE.finditer(text):
        for code, why, suggestions in _MEANINGS:
            if found["code"].startswith(code):
                return LostDevice(why, found[0], suggestions)
    words = _WORDS.search(text)
    if words is None:
        return None
    gone = words[0] in _GONE
    return LostDevice(
        "it is off the bus" if gone else "a computation on it failed",
        words[0],
        (_HARDWARE, _RESTART),
    )
