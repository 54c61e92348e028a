"""Edits of a plan's distribution, and of which layer runs on which logical device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gpu_studio.plan import Machine, Placed, Plan, logical_devices, replicas
from gpu_studio.plan.devices import default_devices
from gpu_studio.plan.strategies import BY_NAME, PLACED, strategy_named, strategy_of


def set_strategy(plan: Plan, strategy: str) -> Plan:
    """`plan` with another strategy, without the settings that only the previous one used."""
    chosen = strategy_named(strategy)
    cluster = plan.cluster if chosen.clusters else None
    if cluster is not None and not chosen.serves:
        cluster = replace(cluster, servers=0, updates="async")
    return replace(plan, distribution=chosen.instead_of(plan.distribution), cluster=cluster)


def use_device(plan: Plan, name: str, machine: Machine, *, used: bool) -> Plan:
    """`plan` with or without a replica on a logical device; devices in TensorFlow's order.

    If all usable devices are chosen, none is named, so that the plan also suits another machine.
    The last device cannot be removed: a plan that names none would use all.
    """
    logical = logical_devices(plan, machine)
    kept = [each for each in replicas(plan, machine) if each != name] + ([name] if used else [])
    if not kept:
        return plan
    order = {device.name: place for place, device in enumerate(logical)}
    names = tuple(sorted(dict.fromkeys(kept), key=lambda each: order.get(each, len(order))))
    return _set_distribution(plan, devices=() if names == default_devices(logical) else names)


def use_one_device(plan: Plan, name: str | None) -> Plan:
    """`plan` with all work on this logical device; None chooses the first one."""
    return _set_distribution(plan, devices=(name,) if name else ())


def use_all_devices(plan: Plan) -> Plan:
    """`plan` without any named logical device."""
    return _set_distribution(plan, devices=())


def set_all_reduce(plan: Plan, name: str) -> Plan:
    """`plan` with another all-reduce."""
    return _set_distribution(plan, all_reduce=name)


def set_parameter_device(plan: Plan, name: str | None) -> Plan:
    """`plan` with its variables on this logical device; None leaves that to the trainer."""
    return _set_distribution(plan, parameter_device=name)


def set_micro_batches(plan: Plan, count: int) -> Plan:
    """`plan` with its batch cut into this many micro-batches."""
    return _set_distribution(
        plan, placed=replace(plan.distribution.placed or Placed(), micro_batches=count)
    )


def set_recompute(plan: Plan, recompute: bool) -> Plan:
    """`plan` with stages that keep only their inputs for the backward pass, or all activations."""
    return _set_distribution(
        plan, placed=replace(plan.distribution.placed or Placed(), recompute=recompute)
    )


def _set_distribution(plan: Plan, **values: Any) -> Plan:
    return replace(plan, distribution=replace(plan.distribution, **values))


Places = Mapping[str, tuple[str, ...]]
"""Devices by the names of layers; several where a layer's units are split."""


def places_of(plan: Plan) -> Places:
    """The layers that the plan places."""
    return (plan.distribution.placed or Placed()).layers


def run_on(plan: Plan, layers: Iterable[str], device: str) -> Plan:
    """`plan` with these layers unsplit on one device."""
    return _with_places(plan, {**places_of(plan), **dict.fromkeys(layers, (device,))})


def split_with(plan: Plan, layers: Iterable[str], device: str, now: Places) -> Plan:
    """`plan` with the units of these layers also on `device`.

    `now` gives the devices of layers that the plan does not name.
    """
    places = places_of(plan)
    before = {layer: places.get(layer) or now.get(layer, ()) for layer in layers}
    return _with_places(
        plan,
        {
            **places,
            **{layer: (*_without_device(on, device), device) for layer, on in before.items()},
        },
    )


def take_off(plan: Plan, layers: Iterable[str], device: str = "") -> Plan:
    """`plan` without a placement for these layers.

    Layers split over more devices lose only `device`.
    """
    names = set(layers)
    left = {
        layer: _without_device(on, device) if device else ()
        for layer, on in places_of(plan).items()
        if layer in names
    }
    places = {layer: left.get(layer, on) for layer, on in places_of(plan).items()}
    return _with_places(plan, {layer: on for layer, on in places.items() if on})


def place_all(plan: Plan, layers: Mapping[str, str], micro_batches: int) -> Plan:
    """`plan` with exactly these layers placed, and its batch cut into this many micro-batches."""
    changed = _with_places(plan, {layer: (device,) for layer, device in layers.items()})
    placed = changed.distribution.placed or Placed()
    return replace(
        changed,
        distribution=replace(
            changed.distribution, placed=replace(placed, micro_batches=micro_batches)
        ),
    )


def spread(plan: Plan) -> Plan:
    """`plan` with the strategy `placed`, on the previous strategy's devices, or on all.

    Its devices are kept if there are several.
    """
    known = plan.distribution.strategy in BY_NAME
    devices = plan.distribution.devices if known and strategy_of(plan).devices == "many" else ()
    changed = set_strategy(plan, PLACED.name)
    return replace(changed, distribution=replace(changed.distribution, devices=devices))


def use_instead(plan: Plan, strategy: str, devices: tuple[str, ...]) -> Plan:
    """`plan` with another strategy on these devices."""
    changed = set_strategy(plan, strategy)
    return replace(changed, distribution=replace(changed.distribution, devices=devices))


def _with_places(plan: Plan, layers: Places) -> Plan:
    placed = replace(plan.distribution.placed or Placed(), layers=dict(layers))
    return replace(plan, distribution=replace(plan.distribution, placed=placed))


def _without_device(devices: Iterable[str], device: str) -> tuple[str, ...]:
    return tuple(each for each in devices if each != device)
