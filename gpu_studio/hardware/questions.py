"""The queries about a card, as tables: figure names, NVML functions, and how to convert results.

The sampler, the probe and the doctor use the same tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from gpu_studio.common.figures import MIB
from gpu_studio.hardware import nvml
from gpu_studio.hardware.nvml import Unknown
from gpu_studio.hardware.pci import plain_bus_id

Call = tuple[Any, ...]
"""The name of an NVML function, and its arguments after the handle."""
Ask = Callable[[Call], Any | Unknown]
"""Makes a call about one card, or one MIG instance."""
Convert = Callable[[Any], tuple[Any, ...]]

ARCHITECTURES = {
    2: "Kepler", 3: "Maxwell", 4: "Pascal", 5: "Volta", 6: "Turing", 7: "Ampere", 8: "Ada Lovelace", 9: "Hopper",
    10: "Blackwell", 13: "Rubin",
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
    return lambda call: nvml.query(call[0], handle, *call[1:])


def first_answer(calls: Iterable[Call], ask: Ask) -> Any | Unknown:
    """The result of the first of `calls` that the driver is not too old for."""
    answer: Any = Unknown("")
    for call in calls:
        answer = ask(call)
        if not isinstance(answer, Unknown) or answer.code != nvml.TOO_OLD:
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
    (("nvmlDeviceGetMemoryInfo", nvml.MEMORY_2), ("nvmlDeviceGetMemoryInfo",)),
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
