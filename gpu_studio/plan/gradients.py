"""Which all-reduce sums the gradients of mirrored replicas, and which the devices cannot do."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_studio.plan.logical import LogicalDevice, logical_devices, replicas
from gpu_studio.plan.machine import Machine, title_of
from gpu_studio.plan.problems import listed
from gpu_studio.plan.values import Plan


def holding(plan: Plan, machine: Machine) -> tuple[LogicalDevice, ...]:
    """The logical devices with a replica, as far as there are such, in the plan's order."""
    known = {device.name: device for device in logical_devices(plan, machine)}
    return tuple(known[name] for name in replicas(plan, machine) if name in known)


def suited(devices: Sequence[LogicalDevice]) -> str:
    """The all-reduce that `auto` takes for replicas on these devices.

    NCCL joins whole cards. Slices of a card and logical CPUs share their memory: there the gradients are summed on one
    device, and a ring between them would only add copies.
    """
    cards = {device.physical for device in devices}
    whole = len(cards) == len(devices) > 1 and not any(device.name.startswith("CPU") for device in devices)
    return "nccl" if whole else "reduction_to_one_device"


def effective(plan: Plan, machine: Machine) -> str:
    """The all-reduce that a run of the plan takes on this machine."""
    wanted = plan.distribution.all_reduce
    return suited(holding(plan, machine)) if wanted == "auto" else wanted


def why_not_nccl(devices: Sequence[LogicalDevice]) -> str:
    """Why NCCL refuses these devices, in a clause; empty if it takes them."""
    if any(device.name.startswith("CPU") for device in devices):
        return "NCCL joins NVIDIA cards only"
    cards = [device.physical for device in devices]
    shared = sorted({card for card in cards if cards.count(card) > 1})
    return f"NCCL refuses two replicas on one card, here {listed(map(title_of, shared))}" if shared else ""
