"""How a physical device is cut into equal slices."""

from __future__ import annotations

from gpu_studio.plan.logical import CPU
from gpu_studio.plan.machine import Machine
from gpu_studio.plan.starter import OUTSIDE_MIB, STEP_MIB


def equal_slices(device: str, count: int, machine: Machine) -> tuple[int, ...]:
    """`count` equal memory limits in MiB for the slices of a device; all 0 on the CPU, which has no limits.

    A card with no room left gets the smallest step for each, and the rules of the plan say that it does not fit.
    """
    if device == CPU:
        return (0,) * count
    card = machine.card(device)
    room = max(0, (card.free_mib if card and card.free_mib is not None else 0) - OUTSIDE_MIB)
    return (max(STEP_MIB, room // count // STEP_MIB * STEP_MIB),) * count
