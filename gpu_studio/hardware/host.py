"""What the kernel says of this machine: its CPU, its memory, and its NVIDIA cards.

Reading the list of PCI devices shows whether a card sleeps, without waking it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from gpu_studio.common.figures import MIB

T = TypeVar("T")
CPU_INFO = Path("/proc/cpuinfo")


def host() -> dict[str, Any]:
    """The facts about the host, as fields of `gpu_studio.plan.Machine`."""
    return {"cpu_cores": cpu_cores(), "cpu_name": cpu_name(), "memory_mib": memory_mib()}


def cpu_cores() -> int:
    """How many cores this process may use: all, or those that it is bound to."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_mib() -> int:
    """The host's memory in MiB; 0 if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MIB
    except (ValueError, OSError):
        return 0


def cpu_name(cpu_info: Path = CPU_INFO) -> str:
    """The CPU's product name; empty if the system does not give it."""
    try:
        lines = cpu_info.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "")


DEVICES = Path("/sys/bus/pci/devices")

NVIDIA = "0x10de"
DISPLAYS = ("0x0300", "0x0302")
"""PCI classes of a VGA controller and of a 3D controller.

A card has more functions, such as its sound.
"""


@dataclass(frozen=True, slots=True)
class PciCard:
    """A card at its PCI address, `0000:2d:00.0`.

    One that `may_sleep` does so when no process has it open.
    """

    bus_id: str
    asleep: bool
    may_sleep: bool = False


def pci_cards(devices: Path = DEVICES) -> list[PciCard]:
    """NVIDIA's cards by address; none where the kernel does not list them (WSL2, macOS)."""
    try:
        entries = sorted(devices.iterdir(), key=lambda entry: bus_order(entry.name))
    except OSError:
        return []
    return [_pci_card(entry) for entry in entries if _is_card(entry)]


class PciWatch:
    """Repeats `pci_cards`, reading only whether cards sleep unless devices have come or gone."""

    def __init__(self, devices: Path = DEVICES) -> None:
        self._devices = devices
        self._names: list[str] | None = None
        self._cards: list[str] = []

    def cards(self) -> list[PciCard]:
        """As `pci_cards`."""
        try:
            # Each second: names cost less than paths.
            names = sorted(os.listdir(self._devices))  # noqa: PTH208
        except OSError:
            return []
        if names != self._names:
            self._names = names
            self._cards = [card.bus_id for card in pci_cards(self._devices)]
        return [_pci_card(self._devices / name) for name in self._cards]


def plain_bus_id(bus_id: str) -> str:
    """A PCI address as the kernel writes it, `0000:2d:00.0`, from NVML's `00000000:2D:00.0`."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain.lstrip('0'):0>4}:{rest}" if rest else bus_id.lower()


def bus_order(bus_id: str) -> tuple[bool, list[int]]:
    """A key that sorts PCI addresses as CUDA_DEVICE_ORDER=PCI_BUS_ID does.

    Invalid ones come last.
    """
    try:
        return False, [int(part, 16) for part in bus_id.replace(".", ":").split(":")]
    except ValueError:
        return True, []


def in_bus_order(found: Iterable[T], bus_id_of: Callable[[T], str]) -> list[T]:
    """`found` by PCI address, as CUDA counts cards.

    A lost card may have no address. It stays behind the card that the driver named before it, since
    the driver counts in bus order too; at the end of all it would move the numbers of the others.
    """
    keyed, before = [], bus_order("0:0:0")
    for each in found:
        key = bus_order(bus_id_of(each))
        before = before if key[0] else key
        keyed.append((before, each))
    return [each for _, each in sorted(keyed, key=lambda pair: pair[0])]


def _is_card(entry: Path) -> bool:
    return _read(entry / "vendor") == NVIDIA and _read(entry / "class").startswith(DISPLAYS)


def _pci_card(entry: Path) -> PciCard:
    power = entry / "power"
    # "on" forbids the card to sleep, the default on machines that are not laptops.
    return PciCard(
        entry.name,
        _read(power / "runtime_status") == "suspended",
        _read(power / "control") == "auto",
    )


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return ""
