"""Edits of which layer runs on which logical device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpu_studio.plan import Placed, Plan
from gpu_studio.plan.edits.distribution import set_strategy
from gpu_studio.plan.strategies import BY_NAME, PLACED, strategy_of

Places = Mapping[str, tuple[str, ...]]
"""Devices by the names of layers; several where a layer's units are split."""


def places_of(plan: Plan) -> Places:
    """The layers that the plan places."""
    return (plan.distribution.placed or Placed()).layers


def run_on(plan: Plan, layers: Iterable[str], device: str) -> Plan:
    """`plan` with these layers unsplit on one device."""
    return _with(plan, {**places_of(plan), **dict.fromkeys(layers, (device,))})


def split_with(plan: Plan, layers: Iterable[str], device: str, now: Places) -> Plan:
    """`plan` with the units of these layers also on `device`.

    `now` gives the devices of layers that the plan does not name.
    """
    places = places_of(plan)
    before = {layer: places.get(layer) or now.get(layer, ()) for layer in layers}
    return _with(
        plan, {**places, **{layer: (*_without(on, device), device) for layer, on in before.items()}}
    )


def take_off(plan: Plan, layers: Iterable[str], device: str = "") -> Plan:
    """`plan` without a placement for these layers.

    Layers split over more devices lose only `device`.
    """
    names = set(layers)
    left = {
        layer: _without(on, device) if device else ()
        for layer, on in places_of(plan).items()
        if layer in names
    }
    places = {layer: left.get(layer, on) for layer, on in places_of(plan).items()}
    return _with(plan, {layer: on for layer, on in places.items() if on})


def place_all(plan: Plan, layers: Mapping[str, str], micro_batches: int) -> Plan:
    """`plan` with exactly these layers placed, and its batch cut into this many micro-batches."""
    changed = _with(plan, {layer: (device,) for layer, device in layers.items()})
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


def _with(plan: Plan, layers: Places) -> Plan:
    placed = replace(plan.distribution.placed or Placed(), layers=dict(layers))
    return replace(plan, distribution=replace(plan.distribution, placed=placed))


def _without(devices: Iterable[str], device: str) -> tuple[str, ...]:
    return tuple(each for each in devices if each != device)
