"""NVML, the NVIDIA driver's library: the only file that imports it, and the one way to call it.

Any single call can fail on any card, for reasons that say nothing about the next call. So a
call returns a value or an `Unknown` that says why in words, and raises nothing. The queries
about a card are tables of figure names, functions and conversions, which the sampler, the probe
and the doctor share.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pynvml

from gpu_studio.common.figures import MIB
from gpu_studio.hardware.host import plain_bus_id

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
    "the machine if that fails too"
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


Call = tuple[Any, ...]
"""The name of an NVML function, and its arguments after the handle."""
Ask = Callable[[Call], Any | Unknown]
"""Makes a call about one card, or one MIG instance."""
Convert = Callable[[Any], tuple[Any, ...]]

ARCHITECTURES = {
    2: "Kepler", 3: "Maxwell", 4: "Pascal", 5: "Volta", 6: "Turing", 7: "Ampere",
    8: "Ada Lovelace", 9: "Hopper", 10: "Blackwell", 13: "Rubin",
}  # fmt: skip
# The bits of nvmlClocksEventReasons, in the words of NVIDIA's nvidia-smi reference.
THROTTLES = {
    0x001: "idle",
    0x002: "application clocks",
    0x004: "power limit",
    0x008: "hardware slowdown",
    0x010: "sync boost",
    0x020: "temperature (driver)",
    0x040: "temperature (hardware)",
    0x080: "power brake",
    0x100: "display clocks",
}
PROCESS_CALLS = {
    "compute": "nvmlDeviceGetComputeRunningProcesses_v3",
    "graphics": "nvmlDeviceGetGraphicsRunningProcesses_v3",
}


@dataclass(frozen=True, slots=True)
class DriverQuestion:
    """One query to the driver.

    Of several `calls`, the next is made only if the driver is too old for the previous one.
    `convert` turns a result into a value for each of `names`.
    """

    names: tuple[str, ...]
    calls: tuple[Call, ...]
    convert: Convert


def asking(handle: Any) -> Ask:
    """Make a function that calls NVML about the card or instance with this handle."""
    return lambda call: query(call[0], handle, *call[1:])


def first_answer(calls: Iterable[Call], ask: Ask) -> Any | Unknown:
    """The result of the first of `calls` that the driver is not too old for."""
    answer: Any = Unknown("")
    for call in calls:
        answer = ask(call)
        if not isinstance(answer, Unknown) or answer.code != TOO_OLD:
            break
    return answer


def put(question: DriverQuestion, ask: Ask) -> tuple[Any, ...] | Unknown:
    """The values of the query, or why they are unknown."""
    answer = first_answer(question.calls, ask)
    return answer if isinstance(answer, Unknown) else question.convert(answer)


def answers(ask: Ask, *questions: DriverQuestion) -> dict[str, Any]:
    """The values of all queries by name; what the driver does not give is left out."""
    reported: dict[str, Any] = {}
    for question in questions:
        answer = put(question, ask)
        if not isinstance(answer, Unknown):
            reported.update(zip(question.names, answer, strict=True))
    return reported


def instances_of(ask: Ask) -> dict[int, Any]:
    """The handles of a card's MIG instances by index, of which some may be unused."""
    most = ask(("nvmlDeviceGetMaxMigDeviceCount",))
    places = range(0 if isinstance(most, Unknown) else most)
    found = {place: ask(("nvmlDeviceGetMigDeviceHandleByIndex", place)) for place in places}
    return {place: handle for place, handle in found.items() if not isinstance(handle, Unknown)}


def one(name: str, *call: Any, convert: Convert | None = None) -> DriverQuestion:
    """A query for a single value by a single call."""
    return DriverQuestion((name,), (call,), convert or _same)


def _same(answer: Any) -> tuple[Any, ...]:
    return (answer,)


def _watts(milliwatts: int) -> tuple[float, ...]:
    return (milliwatts / 1000,)


def _memory(memory: Any) -> tuple[int | None, ...]:
    # The first version of the call has no `reserved`, and counts it as used.
    reserved = getattr(memory, "reserved", None)
    return memory.used // MIB, memory.free // MIB, None if reserved is None else reserved // MIB


def _capacity(memory: Any) -> tuple[int, int, int]:
    return memory.total // MIB, memory.used // MIB, getattr(memory, "reserved", 0) // MIB


def _bus_id(place: Any) -> tuple[str]:
    text = place.busId
    return (plain_bus_id(text.decode("ascii", "replace") if isinstance(text, bytes) else text),)


def _throttles(bits: int) -> tuple[list[str]]:
    return ([words for bit, words in THROTTLES.items() if bits & bit],)


def _capability(numbers: tuple[int, int]) -> tuple[str]:
    return (f"{numbers[0]}.{numbers[1]}",)


def _architecture(number: int) -> tuple[str]:
    return (ARCHITECTURES.get(number, f"architecture {number}"),)


UUID = one("uuid", "nvmlDeviceGetUUID")
NAME = one("name", "nvmlDeviceGetName")
BUS_ID = one("bus_id", "nvmlDeviceGetPciInfo", convert=_bus_id)
MIG = one("mig", "nvmlDeviceGetMigMode", convert=lambda modes: (modes[0] == 1,))
COMPUTE_CAPABILITY = one(
    "compute_capability", "nvmlDeviceGetCudaComputeCapability", convert=_capability
)
MEMORY = DriverQuestion(
    ("memory_used_mib", "memory_free_mib", "memory_reserved_mib"),
    (("nvmlDeviceGetMemoryInfo", MEMORY_2), ("nvmlDeviceGetMemoryInfo",)),
    _memory,
)
TOTAL = DriverQuestion(("total_mib",), MEMORY.calls, lambda memory: (memory.total // MIB,))
TOTAL_AND_USED = DriverQuestion(
    ("total_mib", "used_mib"), MEMORY.calls, lambda memory: _capacity(memory)[:2]
)
CAPACITY = DriverQuestion(("total_mib", "used_mib", "reserved_mib"), MEMORY.calls, _capacity)
UTILISATION = DriverQuestion(
    ("utilisation_percent", "memory_bus_percent"),
    (("nvmlDeviceGetUtilizationRates",),),
    lambda rates: (rates.gpu, rates.memory),
)
FAST = (MEMORY, UTILISATION, one("power_w", "nvmlDeviceGetPowerUsage", convert=_watts))
SLOW = (
    DriverQuestion(
        ("temperature_c",),
        (("nvmlDeviceGetTemperature", 0), ("nvmlDeviceGetTemperatureV", 0)),
        _same,
    ),
    one("clock_sm_mhz", "nvmlDeviceGetClockInfo", 1),
    one("clock_memory_mhz", "nvmlDeviceGetClockInfo", 2),
    one("fan_percent", "nvmlDeviceGetFanSpeed"),
    DriverQuestion(
        ("throttle",),
        (
            ("nvmlDeviceGetCurrentClocksEventReasons",),
            ("nvmlDeviceGetCurrentClocksThrottleReasons",),
        ),
        _throttles,
    ),
    one("p_state", "nvmlDeviceGetPerformanceState"),
    one("ecc_corrected", "nvmlDeviceGetTotalEccErrors", 0, 0),
    one("ecc_uncorrected", "nvmlDeviceGetTotalEccErrors", 1, 0),
    one("energy_j", "nvmlDeviceGetTotalEnergyConsumption", convert=_watts),
)
PCIE = (
    one("sent_mib_s", "nvmlDeviceGetPcieThroughput", 0, convert=lambda kib: (kib / 1024,)),
    one("received_mib_s", "nvmlDeviceGetPcieThroughput", 1, convert=lambda kib: (kib / 1024,)),
)
FACTS = (
    one("serial", "nvmlDeviceGetSerial"),
    one("architecture", "nvmlDeviceGetArchitecture", convert=_architecture),
    COMPUTE_CAPABILITY,
    TOTAL,
    one("pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration"),
    one("pcie_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration"),
    one("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth"),
    one("pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth"),
    one("power_limit_w", "nvmlDeviceGetEnforcedPowerLimit", convert=_watts),
    DriverQuestion(
        ("power_limit_min_w", "power_limit_max_w"),
        (("nvmlDeviceGetPowerManagementLimitConstraints",),),
        lambda limits: (limits[0] / 1000, limits[1] / 1000),
    ),
    one("slowdown_c", "nvmlDeviceGetTemperatureThreshold", 1),
    one("shutdown_c", "nvmlDeviceGetTemperatureThreshold", 0),
    one("clock_sm_max_mhz", "nvmlDeviceGetMaxClockInfo", 1),
    one("clock_memory_max_mhz", "nvmlDeviceGetMaxClockInfo", 2),
    MIG,
)
