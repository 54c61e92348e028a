"""Plans for tests to start from."""

from __future__ import annotations

from gpu_studio.plan import DeviceSettings, Distribution, Machine, Plan, starter
from gpu_studio.plan.starter import spread


def on_everything(machine: Machine) -> Plan:
    """Mirrored over all cards, whoever works on them; over slices of the only card.

    Without a card over CPUs.
    """
    if len(machine.cards) > 1:
        first = starter(machine)
        name = f"digits on {len(machine.cards)} cards"
        return Plan(
            name,
            DeviceSettings(),
            first.model,
            first.data,
            first.training,
            Distribution("mirrored"),
        )
    return spread(machine)
