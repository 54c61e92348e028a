"""The logical devices, by name, that TensorFlow will see on a machine under a plan."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from gpu_studio.plan.machine import Card, Machine
from gpu_studio.plan.values import DeviceSettings, Plan

CPU = "CPU:0"
"""The one physical device that is no card."""

_NUMBER = "(?:0|[1-9][0-9]{0,3})"
_PHYSICAL = re.compile(rf"CPU:0|GPU:{_NUMBER}|(?:GPU|MIG)-[0-9A-Za-z-]{{1,64}}")
_LOGICAL = re.compile(rf"(?:CPU|GPU):{_NUMBER}")


@dataclass(frozen=True, slots=True)
class PlannedDevice:
    """A logical device: TensorFlow's `name` (`GPU:0`), the `physical` device, the limit in MiB."""

    name: str
    physical: str
    limit_mib: int | None = None


class DeviceLike(Protocol):
    """What logical devices in plans and in events have in common."""

    @property
    def name(self) -> str:
        """TensorFlow's name for it, such as `GPU:0`."""

    @property
    def physical(self) -> str:
        """The physical device that it is a part of."""


def is_physical_name(device: str) -> bool:
    """Whether this can name a physical device in a plan: `GPU:0`, `CPU:0`, a UUID or its prefix."""
    return _PHYSICAL.fullmatch(device) is not None


def is_logical_name(device: str) -> bool:
    """Whether this can be TensorFlow's name of a logical device: `GPU:3`, `CPU:0`."""
    return _LOGICAL.fullmatch(device) is not None


def visible_cards(devices: DeviceSettings, machine: Machine) -> tuple[Card, ...]:
    """The cards that TensorFlow may see, in the order in which it will number them.

    That is PCI bus order, or the order in which `devices.visible` names cards. Of cards in MIG mode
    CUDA shows one instance and nothing else: if none is named, the first.
    """
    if not devices.visible:
        first = next((card for card in machine.cards if card.instance), None)
        return machine.cards if first is None else (first,)
    named = (machine.card(device) for device in devices.visible)
    return tuple(dict.fromkeys(card for card in named if card))


def logical_devices(plan: Plan, machine: Machine) -> tuple[PlannedDevice, ...]:
    """Every logical device under the plan on this machine.

    The GPUs, then the CPUs, numbered as TensorFlow does.
    """
    cards = tuple(card.device for card in visible_cards(plan.devices, machine))
    return gpus(plan.devices, cards, machine) + cpus(plan.devices)


def default_devices(logical: Iterable[DeviceLike]) -> tuple[str, ...]:
    """All GPUs among the logical devices, or all CPUs where there is no GPU."""
    names = tuple(device.name for device in logical)
    return tuple(name for name in names if name.startswith("GPU")) or names


def gpus(
    devices: DeviceSettings, cards: Iterable[str], machine: Machine | None = None
) -> tuple[PlannedDevice, ...]:
    """The logical GPUs of these physical cards."""
    slices = [(card, limit) for card in cards for limit in _slices(devices, card, machine) or (0,)]
    return tuple(
        PlannedDevice(f"GPU:{index}", card, limit or None)
        for index, (card, limit) in enumerate(slices)
    )


def cpus(devices: DeviceSettings) -> tuple[PlannedDevice, ...]:
    """The logical CPUs. The CPU is always there, whatever `devices.visible` says."""
    count = max(1, len(_slices(devices, CPU, None)))
    return tuple(PlannedDevice(f"CPU:{index}", CPU) for index in range(count))


def _slices(devices: DeviceSettings, physical: str, machine: Machine | None) -> tuple[int, ...]:
    for carve in devices.carve:
        if physical_name(carve.device, machine) == physical:
            return carve.slices_mib
    return ()


def physical_name(device: str, machine: Machine | None) -> str:
    """The canonical name of a physical device that a plan may also name by UUID.

    Without a machine, the name unchanged.
    """
    card = machine.card(device) if machine else None
    return card.device if card else device
