"""Practice cards in place of the driver's: their name, their memory, and who holds it.

Memory is what the processes of TensorFlow noted that they hold. Nothing else is known of cards that
do not exist: power, temperature, clocks and utilisation are not supported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from gpu_studio.common.figures import MIB
from gpu_studio.common.practice import CARD_NAME, STATE, PracticeCards, identity
from gpu_studio.hardware.practice import held
from gpu_studio.hardware.simulated.cards import (
    CARD_FUNCTIONS,
    NOT_SUPPORTED,
    TOO_SMALL,
    CardFunction,
)
from gpu_studio.hardware.simulated.library import SimulatedLibrary
from gpu_studio.hardware.simulated.profiles import Profile, SimulatedCard
from gpu_studio.hardware.source import MachineSource

# ruff: noqa: SLF001 - a byref has no other way to its target than `_obj`
CAPABILITY = (9, 0)
"""What TensorFlow is told of them, so that it takes all their kernels."""
_NO_DRIVER: Final = dict.fromkeys(
    (
        "nvmlSystemGetDriverVersion",
        "nvmlSystemGetCudaDriverVersion",
        "nvmlSystemGetCudaDriverVersion_v2",
    ),
    NOT_SUPPORTED,
)
Shares = Callable[[int], Mapping[int, int]]
"""The bytes that each process, by number, holds of the card with an index."""


def source(cards: PracticeCards) -> MachineSource:
    """Replace the driver in this process by these practice cards."""
    from gpu_studio.hardware import nvml

    library = SimulatedLibrary(machine(cards), on_cards=functions(_noted))
    library.errors.update(_NO_DRIVER)
    nvml.use_library(library)
    return MachineSource(library.pci_cards, practice=cards.title)


def machine(cards: PracticeCards) -> Profile:
    """The cards as the library lists them."""
    return Profile(tuple(_card(place, cards.memory_mib) for place in range(cards.count)))


def functions(shares: Shares) -> dict[str, CardFunction]:
    """NVML's functions on practice cards, by C name."""

    def memory(card: SimulatedCard, place: Any, _seconds: float, target: Any) -> None:
        reported, used = target._obj, sum(shares(place).values())
        reported.total, reported.used = card.total * MIB, used
        reported.free = max(0, card.total * MIB - used)

    def processes(
        _card: SimulatedCard, place: Any, _seconds: float, count: Any, entries: Any
    ) -> int | None:
        there = sorted(shares(place).items())
        count._obj.value = len(there)
        if there and entries is None:
            return TOO_SMALL
        for entry, (pid, used) in zip(entries or (), there, strict=False):
            entry.pid, entry.usedGpuMemory = pid, used
        return None

    return {
        **dict.fromkeys(CARD_FUNCTIONS, _not_supported),
        **{name: CARD_FUNCTIONS[name] for name in _AS_SIMULATED},
        "nvmlDeviceGetMemoryInfo": memory,
        "nvmlDeviceGetMemoryInfo_v2": memory,
        "nvmlDeviceGetComputeRunningProcesses_v3": processes,
    }


_AS_SIMULATED: Final = (
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetName",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetCudaComputeCapability",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
)


def _card(place: int, memory_mib: int) -> SimulatedCard:
    uuid, bus_id = identity(place)
    return SimulatedCard(
        CARD_NAME.encode(), memory_mib, 0, CAPABILITY, 0, reserved=0, uuid=uuid, bus_id=bus_id
    )


def _noted(place: int) -> Mapping[int, int]:
    folder = os.environ.get(STATE, "")
    shares = held(Path(folder), place) if folder else {}
    return {pid: used for pid, (used, _) in shares.items()}


def _not_supported(*_: Any) -> int:
    return NOT_SUPPORTED
