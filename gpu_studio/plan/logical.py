"""What TensorFlow will see of a machine under a plan: the logical devices by name, and which of them hold replicas."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from gpu_studio.plan.machine import Card, Machine
from gpu_studio.plan.values import Devices, Plan

CPU = "CPU:0"
"""The one physical device that is no card."""

_NUMBER = "(?:0|[1-9][0-9]{0,3})"
_PHYSICAL = re.compile(rf"CPU:0|GPU:{_NUMBER}|(?:GPU|MIG)-[0-9A-Za-z-]{{1,64}}")
_LOGICAL = re.compile(rf"(?:CPU|GPU):{_NUMBER}")


@dataclass(frozen=True, slots=True)
class LogicalDevice:
    """A logical device: its `name` as TensorFlow has it (`GPU:0`), the `physical` device, its memory limit in MiB."""

    name: str
    physical: str
    limit_mib: int | None = None


def is_physical_name(device: str) -> bool:
    """Whether a plan can call a physical device so: `GPU:0`, `CPU:0`, or (the beginning of) a UUID."""
    return _PHYSICAL.fullmatch(device) is not None


def is_logical_name(device: str) -> bool:
    """Whether TensorFlow could call a logical device so: `GPU:3`, `CPU:0`."""
    return _LOGICAL.fullmatch(device) is not None


def visible_cards(devices: Devices, machine: Machine) -> tuple[Card, ...]:
    """The cards that TensorFlow may see, in the order in which it will number them.

    That is PCI bus order, or where `devices.visible` names cards, the order in which they are named. Of cards in MIG
    mode CUDA shows one instance and nothing else: where none is named, the first.
    """
    if not devices.visible:
        first = next((card for card in machine.cards if card.instance), None)
        return machine.cards if first is None else (first,)
    named = (machine.card(device) for device in devices.visible)
    return tuple(dict.fromkeys(card for card in named if card))


def logical_devices(plan: Plan, machine: Machine) -> tuple[LogicalDevice, ...]:
    """Every logical device under the plan on this machine: the GPUs, then the CPUs, numbered as TensorFlow does."""
    cards = tuple(card.device for card in visible_cards(plan.devices, machine))
    return gpus(plan.devices, cards, machine) + cpus(plan.devices)


def replicas(plan: Plan, machine: Machine) -> tuple[str, ...]:
    """The logical devices that will hold a replica of the model, by name.

    Without `distribution.devices` these are all GPUs, or where there is none, all CPUs; a strategy with one replica
    takes the first. With `placed` they are the devices that hold layers of the one model, the first where none is
    named. Names in the plan are taken as they stand: `validate` says which do not exist.
    """
    names = plan.distribution.devices or default_devices(logical_devices(plan, machine))
    if plan.distribution.strategy == "placed":
        return _with_layers(plan) or names[:1]
    return names[:1] if plan.distribution.strategy in ("none", "one_device") else names


def replica_count(plan: Plan, machine: Machine) -> int:
    """How many parts a global batch is cut into: one for each replica; a placed model is one, on whatever devices."""
    return 1 if plan.distribution.strategy == "placed" else len(replicas(plan, machine))


def shares_of(plan: Plan, count: int) -> tuple[int, ...]:
    """How many samples of a step each of `count` replicas gets: as even as can be, and the first ones one more."""
    size = plan.training.batch_size
    if plan.training.batch_scope == "replica":
        return (size,) * count
    return tuple(size // count + (place < size % count) for place in range(count))


def _with_layers(plan: Plan) -> tuple[str, ...]:
    layers = plan.distribution.placed.layers if plan.distribution.placed else {}
    return tuple(dict.fromkeys(device for devices in layers.values() for device in devices))


def default_devices(logical: Iterable[LogicalDevice]) -> tuple[str, ...]:
    """All GPUs among the logical devices, or all CPUs where there is no GPU."""
    names = tuple(device.name for device in logical)
    return tuple(name for name in names if name.startswith("GPU")) or names


def gpus(devices: Devices, cards: Iterable[str], machine: Machine | None = None) -> tuple[LogicalDevice, ...]:
    """The logical GPUs of these physical cards."""
    slices = [(card, limit) for card in cards for limit in _slices(devices, card, machine) or (0,)]
    return tuple(LogicalDevice(f"GPU:{index}", card, limit or None) for index, (card, limit) in enumerate(slices))


def cpus(devices: Devices) -> tuple[LogicalDevice, ...]:
    """The logical CPUs. The CPU is always there, whatever `devices.visible` says."""
    count = max(1, len(_slices(devices, CPU, None)))
    return tuple(LogicalDevice(f"CPU:{index}", CPU) for index in range(count))


def _slices(devices: Devices, physical: str, machine: Machine | None) -> tuple[int, ...]:
    for carve in devices.carve:
        if physical_name(carve.device, machine) == physical:
            return carve.slices_mib
    return ()


def physical_name(device: str, machine: Machine | None) -> str:
    """The one name of a physical device that a plan may also call by UUID; without a machine the name as it stands."""
    card = machine.card(device) if machine else None
    return card.device if card else device
