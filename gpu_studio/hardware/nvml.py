"""NVML, the NVIDIA driver's library: the only file that imports it, and the one way to call it.

Any single call can fail on any card, for reasons that say nothing about the next call. So a call
returns a value or an `Unknown` that says why in words, and raises nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pynvml

T = TypeVar("T")
NAMELESS = "NVIDIA card"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that NVML did not give, and why, in words that are shown in its place."""

    why: str
    code: int = field(default=0, compare=False)
    """NVML's own number of the error; 0 where it has none."""

    @property
    def is_card_gone(self) -> bool:
        """Whether the whole card has stopped answering, not just this query."""
        return self.code in GONE

    @property
    def is_driver_gone(self) -> bool:
        """Whether the driver itself has stopped answering: it was reloaded or is being updated."""
        return self.code in DRIVER_GONE

    @property
    def is_lasting(self) -> bool:
        """Whether it is useless to query the same card again."""
        return self.code in LASTING


TIMEOUT = pynvml.NVML_ERROR_TIMEOUT
MISMATCH = pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH
NOT_SUPPORTED = pynvml.NVML_ERROR_NOT_SUPPORTED
TOO_OLD = pynvml.NVML_ERROR_FUNCTION_NOT_FOUND
GONE = (pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_RESET_REQUIRED)
DRIVER_GONE = (pynvml.NVML_ERROR_UNINITIALIZED, pynvml.NVML_ERROR_DRIVER_NOT_LOADED, MISMATCH)
LASTING = (NOT_SUPPORTED, TOO_OLD)
MEMORY_2 = pynvml.nvmlMemory_v2
NO_ATTACH = pynvml.NVML_INIT_FLAG_NO_ATTACH
"""Start NVML without waking every card."""

WHY = {
    pynvml.NVML_ERROR_UNINITIALIZED: "NVML was not started",
    pynvml.NVML_ERROR_INVALID_ARGUMENT: "the driver does not understand the question",
    pynvml.NVML_ERROR_NOT_SUPPORTED: "not supported by this card",
    pynvml.NVML_ERROR_NO_PERMISSION: "no permission",
    pynvml.NVML_ERROR_NOT_FOUND: "the driver does not find it",
    pynvml.NVML_ERROR_INSUFFICIENT_POWER: "the card's power cables are not connected",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "the NVIDIA driver is installed but not loaded",
    pynvml.NVML_ERROR_TIMEOUT: "the driver did not answer in time",
    pynvml.NVML_ERROR_IRQ_ISSUE: "the driver has a problem with the card's interrupts",
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: (
        "no NVIDIA driver is installed on this machine (libnvidia-ml.so.1 is not there)"
    ),
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "the driver is too old to tell",
    pynvml.NVML_ERROR_CORRUPTED_INFOROM: "the card's own memory of facts (infoROM) is corrupted",
    pynvml.NVML_ERROR_GPU_IS_LOST: "lost: the driver no longer answers for it",
    pynvml.NVML_ERROR_RESET_REQUIRED: "the card needs a reset",
    pynvml.NVML_ERROR_OPERATING_SYSTEM: "the operating system refused",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: (
        "the NVIDIA driver was updated while the old one still runs: restart the machine"
    ),
    pynvml.NVML_ERROR_MEMORY: "the driver is out of memory",
    pynvml.NVML_ERROR_UNKNOWN: "the driver does not say why",
}


NO_START = (
    "the NVIDIA driver does not start and does not say why: look what nvidia-smi says, and restart "
    "the machine if that "
    "fails too"
)


def ask(call: Callable[..., T], *arguments: Any) -> T | Unknown:
    """The result of an NVML call, or why there is none."""
    try:
        return call(*arguments)
    except pynvml.NVMLError as error:
        # Its str() would call NVML again, which can also fail.
        return Unknown(
            WHY.get(error.value, f"the driver answered with error {error.value}"), error.value
        )
    except pynvml.NVMLLibraryMismatchError:
        # pynvml's error for a function that the driver has only in an earlier version.
        return Unknown(WHY[TOO_OLD], TOO_OLD)
    except UnicodeDecodeError:
        return Unknown("the driver answered with unreadable letters")
    except ctypes.ArgumentError:
        return Unknown("the driver's library does not take this question")


def query(function: str, *arguments: Any) -> Any | Unknown:
    """The result of the NVML function of that name, or why there is none; raises nothing."""
    return ask(getattr(pynvml, function), *arguments)


def use_library(library: Any) -> None:
    """Use `library`, an object with NVML's C functions, in place of the driver's from now on."""
    pynvml.nvmlLib = library
    pynvml._nvmlGetFunctionPointer_cache.clear()  # noqa: SLF001 - pynvml has no other way


def address(handle: Any) -> int:
    """A number that identifies a handle: an event names its card by it."""
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


def start(answer: Unknown | None) -> Unknown | None:
    """Start NVML; the result says what to do if the driver itself says nothing."""
    if answer is not None and answer.code == pynvml.NVML_ERROR_UNKNOWN:
        return Unknown(NO_START, answer.code)
    return answer


@contextmanager
def running() -> Iterator[Unknown | None]:
    """NVML for the duration of the block; yields an `Unknown` if it could not be started."""
    failure = start(ask(pynvml.nvmlInit))
    try:
        yield failure
    finally:
        if failure is None:
            ask(pynvml.nvmlShutdown)
