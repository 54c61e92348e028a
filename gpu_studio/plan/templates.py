"""Plans to begin from: the starter for a machine, and one for each strategy that runs."""

from __future__ import annotations

from dataclasses import replace

from gpu_studio.plan.logical import default_devices, logical_devices
from gpu_studio.plan.machine import Machine
from gpu_studio.plan.starter import spread, starter
from gpu_studio.plan.values import Distribution, Placed, Plan

MICRO_BATCHES = 4
"""Enough for two stages to overlap by four fifths (GPipe: the bubble is (K - 1) / (M + K - 1))."""


def template(strategy: str, machine: Machine) -> Plan:
    """A plan that trains the digits with `strategy`: on one device, or spread over what is free."""
    if strategy in ("none", "one_device"):
        return _on_one(starter(machine), strategy)
    first = spread(machine)
    if strategy == "placed":
        return _placed(first, machine)
    return replace(first, name=f"{first.name}, {strategy}", distribution=Distribution(strategy))


def _on_one(first: Plan, strategy: str) -> Plan:
    """Without slices: one device has use for all of its memory."""
    devices = replace(first.devices, carve=())
    return replace(first, name=f"digits, {strategy}", devices=devices, distribution=Distribution(strategy))


def _placed(first: Plan, machine: Machine) -> Plan:
    """The layers dealt to the devices in order, as evenly as they go."""
    devices = default_devices(logical_devices(first, machine))
    layers = _layers(first)
    on = {layer: (devices[place * len(devices) // len(layers)],) for place, layer in enumerate(layers)}
    placed = Placed(micro_batches=MICRO_BATCHES, layers=on)
    return replace(first, name="digits, layers placed", distribution=Distribution("placed", placed=placed))


def _layers(plan: Plan) -> list[str]:
    """The dense layers of the starter's model; what lies between them goes where its input is."""
    hidden = plan.model.options.get("hidden", ())
    return [*("dense" if not place else f"dense_{place}" for place in range(len(hidden))), "outputs"]
