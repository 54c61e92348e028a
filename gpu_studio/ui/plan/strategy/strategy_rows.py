"""The logical devices as rows to choose from, for each option of a strategy that names devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpu_studio.common.figures import plural, size_from_mib
from gpu_studio.plan import Machine, Plan, PlannedDevice, logical_devices, replicas
from gpu_studio.plan.logical import CPU
from gpu_studio.plan.replication import parameter_home
from gpu_studio.ui.kit.device_place import places

LEFT_OPEN = ""
"""The row of a choice that the plan leaves open."""


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """A row: its device, or LEFT_OPEN; its text, its colour, and whether it is checked."""

    device: str
    title: str
    note: str = ""
    place: int | None = None
    checked: bool = False


def replica_rows(plan: Plan, machine: Machine) -> tuple[StrategyRow, ...]:
    """Return every logical device, checked if it holds a replica.

    Devices that the plan names and the machine lacks are included.
    """
    replica_names = replicas(plan, machine)
    return tuple(
        replace(row, checked=row.device in replica_names)
        for row in _every(plan, machine, replica_names)
    )


def one_device_rows(plan: Plan, machine: Machine) -> tuple[StrategyRow, ...]:
    """Return every logical device, after an entry that leaves the choice open.

    The plan's choice is checked.
    """
    named = plan.distribution.devices
    open_ = replace(plan, distribution=replace(plan.distribution, devices=()))
    first = StrategyRow(
        LEFT_OPEN, "the first one", f"here {', '.join(replicas(open_, machine))}", checked=not named
    )
    return (
        first,
        *(replace(row, checked=row.device in named[:1]) for row in _every(plan, machine, named)),
    )


def parameter_rows(plan: Plan, machine: Machine) -> tuple[StrategyRow, ...]:
    """Return every logical device as the home of the variables, and leaving that open."""
    named = plan.distribution.parameter_device
    open_ = replace(plan, distribution=replace(plan.distribution, parameter_device=None))
    usual = StrategyRow(
        LEFT_OPEN, "as usual", f"here {parameter_home(open_, machine)}", checked=named is None
    )
    return (
        usual,
        *(
            replace(row, checked=row.device == named)
            for row in _every(plan, machine, (named or "",))
        ),
    )


def _every(plan: Plan, machine: Machine, named: tuple[str, ...]) -> Iterator[StrategyRow]:
    known = logical_devices(plan, machine)
    place = places(known, machine)
    for device in known:
        yield StrategyRow(device.name, device.name, _what(device, machine), place[device.name])
    names = {device.name for device in known}
    yield from (
        StrategyRow(name, name, "not among the logical devices")
        for name in dict.fromkeys(named)
        if _gone(name, names)
    )


def _gone(name: str, names: set[str]) -> bool:
    return bool(name) and name not in names


def _what(device: PlannedDevice, machine: Machine) -> str:
    if device.physical == CPU:
        return plural(machine.cpu_cores, "core")
    if device.limit_mib is not None:
        return f"{size_from_mib(device.limit_mib)} of {machine.title(device.physical)}"
    card = machine.card(device.physical)
    return size_from_mib(card.total_mib) if card and card.total_mib else "a whole card"
