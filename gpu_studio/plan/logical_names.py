"""Keep a plan's references to logical devices correct when these are renumbered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_studio.plan.logical import default_devices, logical_devices
from gpu_studio.plan.machine import Machine
from gpu_studio.plan.values import Distribution, Plan

Slice = tuple[str, int]
"""A physical device, and which of its slices."""
Names = Mapping[str, str | None]
"""The name that each logical device has now; None if it is gone."""


def followed(
    before: Plan,
    after: Plan,
    machine: Machine,
    device: str = "",
    origins: tuple[int | None, ...] = (),
) -> Plan:
    """`after`, with the logical devices that `before` named under their new names.

    A device stays the same slice of the same physical device; `origins` gives, for each slice of
    `device`, its index before. If a plan named all the devices that train, it uses all of them
    again, new ones included.
    """
    old, new = _slices(before, machine), _slices(after, machine)
    was = {(device, now): origin for now, origin in enumerate(origins)}
    called = {(place[0], was.get(place, place[1])): name for name, place in new.items()}
    names = {name: called.get(place) for name, place in old.items()}
    if all(name == now for name, now in names.items()) and len(new) == len(old):
        return after
    everything = default_devices(logical_devices(before, machine))
    return replace(after, distribution=_renamed(after.distribution, names, everything))


def _slices(plan: Plan, machine: Machine) -> dict[str, Slice]:
    """The logical devices, each with the slice that it is."""
    seen: dict[str, int] = {}
    found: dict[str, Slice] = {}
    for each in logical_devices(plan, machine):
        found[each.name] = (each.physical, seen.get(each.physical, 0))
        seen[each.physical] = found[each.name][1] + 1
    return found


def _renamed(chosen: Distribution, names: Names, everything: tuple[str, ...]) -> Distribution:
    devices = () if set(everything) <= set(chosen.devices) else _now(chosen.devices, names)
    parameters = chosen.parameter_device
    placed = chosen.placed
    if placed is not None:
        layers = {
            layer: now for layer, devices in placed.layers.items() if (now := _now(devices, names))
        }
        placed = replace(placed, layers=layers)
    return replace(
        chosen,
        devices=devices,
        parameter_device=names.get(parameters, parameters) if parameters else None,
        placed=placed,
    )


def _now(devices: tuple[str, ...], names: Names) -> tuple[str, ...]:
    # A name from a file that never existed stays: the rules say what is wrong with it.
    return tuple(now for device in devices if (now := names.get(device, device)) is not None)
