"""What is asked of a card, as tables: the names of the figures, NVML's functions, and how an answer becomes figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpu_studio.hardware import nvml

MIB = nvml.MIB
Call = tuple[Any, ...]
Convert = Callable[[Any], tuple[Any, ...]]

ARCHITECTURES = {
    2: "Kepler", 3: "Maxwell", 4: "Pascal", 5: "Volta", 6: "Turing", 7: "Ampere", 8: "Ada Lovelace", 9: "Hopper",
    10: "Blackwell", 13: "Rubin",
}  # fmt: skip
# The bits of nvmlClocksEventReasons, in the words of NVIDIA's reference of nvidia-smi.
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
class Question:
    """One question to the driver. Of several `calls` the next is made only if the driver is too old for the one before.

    A call is the name of an NVML function and what follows the handle.
    """

    names: tuple[str, ...]
    calls: tuple[Call, ...]
    convert: Convert


def _same(answer: Any) -> tuple[Any, ...]:
    return (answer,)


def _one(name: str, *call: Any, convert: Convert = _same) -> Question:
    return Question((name,), (call,), convert)


def _watts(milliwatts: int) -> tuple[float, ...]:
    return (milliwatts / 1000,)


def _memory(memory: Any) -> tuple[int | None, ...]:
    # The first version of the question has no `reserved`, and counts it as used.
    reserved = getattr(memory, "reserved", None)
    return memory.used // MIB, memory.free // MIB, None if reserved is None else reserved // MIB


def _throttles(bits: int) -> tuple[list[str]]:
    return ([words for bit, words in THROTTLES.items() if bits & bit],)


def _capability(numbers: tuple[int, int]) -> tuple[str]:
    return (f"{numbers[0]}.{numbers[1]}",)


def _architecture(number: int) -> tuple[str]:
    return (ARCHITECTURES.get(number, f"architecture {number}"),)


MEMORY = Question(
    ("memory_used_mib", "memory_free_mib", "memory_reserved_mib"),
    (("nvmlDeviceGetMemoryInfo", nvml.MEMORY_2), ("nvmlDeviceGetMemoryInfo",)),
    _memory,
)
TOTAL = Question(("total_mib",), MEMORY.calls, lambda memory: (memory.total // MIB,))
UTILISATION = Question(
    ("utilisation_percent", "memory_bus_percent"),
    (("nvmlDeviceGetUtilizationRates",),),
    lambda rates: (rates.gpu, rates.memory),
)
FAST = (MEMORY, UTILISATION, _one("power_w", "nvmlDeviceGetPowerUsage", convert=_watts))
SLOW = (
    Question(("temperature_c",), (("nvmlDeviceGetTemperature", 0), ("nvmlDeviceGetTemperatureV", 0)), _same),
    _one("clock_sm_mhz", "nvmlDeviceGetClockInfo", 1),
    _one("clock_memory_mhz", "nvmlDeviceGetClockInfo", 2),
    _one("fan_percent", "nvmlDeviceGetFanSpeed"),
    Question(
        ("throttle",),
        (("nvmlDeviceGetCurrentClocksEventReasons",), ("nvmlDeviceGetCurrentClocksThrottleReasons",)),
        _throttles,
    ),
    _one("p_state", "nvmlDeviceGetPerformanceState"),
    _one("ecc_corrected", "nvmlDeviceGetTotalEccErrors", 0, 0),
    _one("ecc_uncorrected", "nvmlDeviceGetTotalEccErrors", 1, 0),
    _one("energy_j", "nvmlDeviceGetTotalEnergyConsumption", convert=_watts),
)
PCIE = (
    _one("sent_mib_s", "nvmlDeviceGetPcieThroughput", 0, convert=lambda kib: (kib / 1024,)),
    _one("received_mib_s", "nvmlDeviceGetPcieThroughput", 1, convert=lambda kib: (kib / 1024,)),
)
FACTS = (
    _one("serial", "nvmlDeviceGetSerial"),
    _one("architecture", "nvmlDeviceGetArchitecture", convert=_architecture),
    _one("compute_capability", "nvmlDeviceGetCudaComputeCapability", convert=_capability),
    TOTAL,
    _one("pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration"),
    _one("pcie_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration"),
    _one("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth"),
    _one("pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth"),
    _one("power_limit_w", "nvmlDeviceGetEnforcedPowerLimit", convert=_watts),
    Question(
        ("power_limit_min_w", "power_limit_max_w"),
        (("nvmlDeviceGetPowerManagementLimitConstraints",),),
        lambda limits: (limits[0] / 1000, limits[1] / 1000),
    ),
    _one("slowdown_c", "nvmlDeviceGetTemperatureThreshold", 1),
    _one("shutdown_c", "nvmlDeviceGetTemperatureThreshold", 0),
    _one("clock_sm_max_mhz", "nvmlDeviceGetMaxClockInfo", 1),
    _one("clock_memory_max_mhz", "nvmlDeviceGetMaxClockInfo", 2),
    _one("mig", "nvmlDeviceGetMigMode", convert=lambda modes: (modes[0] == 1,)),
)
