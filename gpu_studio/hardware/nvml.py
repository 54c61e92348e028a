"""NVML, the NVIDIA driver's library: the one file that imports it, and the one way to call it.

Any single call can fail on any card, for reasons that say nothing about the next call. So a call answers with a value
or with an `Unknown` that says why in words, and raises nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pynvml

from gpu_studio.hardware.pci import plain_bus_id

T = TypeVar("T")
MIB = 1024 * 1024
NAMELESS = "NVIDIA card"
NO_INSTANCE = "it is in MIG mode and has no instance yet, so that CUDA sees nothing of it"
More = Callable[[Any], dict[str, Any]] | None


@dataclass(frozen=True, slots=True)
class Unknown:
    """What NVML did not tell, and why, in words that stand on the screen in place of the value."""

    why: str
    code: int = field(default=0, compare=False)
    """NVML's own number of the error; 0 where it has none."""

    @property
    def is_card_gone(self) -> bool:
        """Whether the whole card has stopped answering, and not this question only."""
        return self.code in GONE

    @property
    def is_driver_gone(self) -> bool:
        """Whether the driver itself has stopped answering: it was reloaded, or is being renewed."""
        return self.code in DRIVER_GONE

    @property
    def is_lasting(self) -> bool:
        """Whether asking the same card again is in vain."""
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
    "the NVIDIA driver does not start and does not say why: look what nvidia-smi says, and restart the machine if that "
    "fails too"
)


def ask(call: Callable[..., T], *arguments: Any) -> T | Unknown:
    """What an NVML call answers, or why it does not."""
    try:
        return call(*arguments)
    except pynvml.NVMLError as error:
        # Its str() would call NVML again, which can fail again.
        return Unknown(WHY.get(error.value, f"the driver answered with error {error.value}"), error.value)
    except pynvml.NVMLLibraryMismatchError:
        # pynvml's word for a function that the driver has only in an earlier version.
        return Unknown(WHY[TOO_OLD], TOO_OLD)
    except UnicodeDecodeError:
        return Unknown("the driver answered with unreadable letters")
    except ctypes.ArgumentError:
        return Unknown("the driver's library does not take this question")


def query(function: str, *arguments: Any) -> Any | Unknown:
    """What the NVML function of that name answers, or why it does not; raises nothing."""
    return ask(getattr(pynvml, function), *arguments)


def use_library(library: Any) -> None:
    """Ask `library` from now on, an object with NVML's C functions, in place of the driver's own."""
    pynvml.nvmlLib = library
    pynvml._nvmlGetFunctionPointer_cache.clear()  # noqa: SLF001 - pynvml has no other way


def address(handle: Any) -> int:
    """The number that tells handles apart: an event names its card by it."""
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


def start(answer: Unknown | None) -> Unknown | None:
    """The answer to NVML's start, with what to do where the driver itself says nothing."""
    if answer is not None and answer.code == pynvml.NVML_ERROR_UNKNOWN:
        return Unknown(NO_START, answer.code)
    return answer


@contextmanager
def running() -> Iterator[Unknown | None]:
    """NVML while the block runs; gives an `Unknown` if it could not be started."""
    failure = start(ask(pynvml.nvmlInit))
    try:
        yield failure
    finally:
        if failure is None:
            ask(pynvml.nvmlShutdown)


def cards(
    bus_ids: Iterable[str] | None = None, more: Callable[[Any], dict[str, Any]] | None = None
) -> list[dict[str, Any]] | Unknown:
    """The facts of each card that the driver has, or only of those at the PCI addresses given.

    Asking for a card wakes it: give the addresses of those that are awake if others sleep. `more` tells further facts
    of the card with a handle.
    """
    with running() as failure:
        if failure is not None:
            return failure
        if bus_ids is not None:
            return [_facts(ask(pynvml.nvmlDeviceGetHandleByPciBusId, bus_id), bus_id, more) for bus_id in bus_ids]
        count = ask(pynvml.nvmlDeviceGetCount)
        if isinstance(count, Unknown):
            return count
        return [_facts(ask(pynvml.nvmlDeviceGetHandleByIndex, index), "", more) for index in range(count)]


def _facts(handle: Any, bus_id: str, more: More) -> dict[str, Any]:
    """One card in the words of `gpu_studio.plan.Card`, less its index."""
    if isinstance(handle, Unknown):
        return {"uuid": "", "name": NAMELESS, "bus_id": bus_id, "lost": True, "why_unknown": handle.why}
    return {
        "uuid": _or(ask(pynvml.nvmlDeviceGetUUID, handle), ""),
        "name": _or(ask(pynvml.nvmlDeviceGetName, handle), NAMELESS),
        "bus_id": bus_id or _or(ask(_bus_id, handle), ""),
        **_memory(handle),
        **_known(handle),
        **(more(handle) if more else {}),
        **_divided(handle, more),
    }


def _divided(handle: Any, more: More) -> dict[str, Any]:
    """Of a card in MIG mode its instances, each told of as a card; where it has none yet, nothing can use it."""
    mode = ask(pynvml.nvmlDeviceGetMigMode, handle)
    if isinstance(mode, Unknown) or mode[0] != pynvml.NVML_DEVICE_MIG_ENABLE:
        return {}
    most = ask(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle)
    places = range(0 if isinstance(most, Unknown) else most)
    found = [ask(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, place) for place in places]
    instances = [_instance(each, place, more) for place, each in enumerate(found) if not isinstance(each, Unknown)]
    return {"instances": instances} if instances else {"lost": True, "why_unknown": NO_INSTANCE}


def _instance(handle: Any, place: int, more: More) -> dict[str, Any]:
    name = _or(ask(pynvml.nvmlDeviceGetName, handle), f"{NAMELESS} MIG instance {place}")
    facts = {"uuid": _or(ask(pynvml.nvmlDeviceGetUUID, handle), ""), "name": name}
    kind = name.rpartition("MIG ")[2]
    return facts | {"instance": kind} | _memory(handle) | (more(handle) if more else {})


def _bus_id(handle: Any) -> str:
    bus_id = pynvml.nvmlDeviceGetPciInfo(handle).busId
    return plain_bus_id(bus_id.decode("ascii") if isinstance(bus_id, bytes) else bus_id)


def _known(handle: Any) -> dict[str, Any]:
    """What need not be known: it is left out where the driver does not tell."""
    capability = ask(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    rates = ask(pynvml.nvmlDeviceGetUtilizationRates, handle)
    told = {} if isinstance(capability, Unknown) else {"compute_capability": "{}.{}".format(*capability)}
    return told if isinstance(rates, Unknown) else told | {"utilisation_percent": rates.gpu}


def _memory(handle: Any) -> dict[str, Any]:
    # Version 2 tells the driver's own share apart from what programs use; old drivers have only the first.
    memory = ask(pynvml.nvmlDeviceGetMemoryInfo, handle, pynvml.nvmlMemory_v2)
    if isinstance(memory, Unknown):
        memory = ask(pynvml.nvmlDeviceGetMemoryInfo, handle)
    if isinstance(memory, Unknown):
        return {"total_mib": None, "used_mib": None, "why_unknown": memory.why}
    reserved = getattr(memory, "reserved", 0)
    return {
        "total_mib": memory.total // MIB,
        "used_mib": memory.used // MIB,
        "reserved_mib": reserved // MIB,
    }


def _or(answer: T | Unknown, otherwise: T) -> T:
    return otherwise if isinstance(answer, Unknown) else answer
