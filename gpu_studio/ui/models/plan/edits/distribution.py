"""Changes of a plan's distribution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpu_studio.plan import Machine, Placed, Plan, logical_devices, replicas
from gpu_studio.plan.logical import default_devices
from gpu_studio.plan.strategies import STRATEGY_FACTS


def set_strategy(plan: Plan, strategy: str) -> Plan:
    """`plan` with another strategy; what only the one before had a use for is left out."""
    chosen = plan.distribution
    takes = STRATEGY_FACTS[strategy].devices if strategy in STRATEGY_FACTS else "many"
    # Layers go where they are put, but devices are chosen for them from these alone.
    kept = {"none": (), "one": chosen.devices[:1]}.get(takes, chosen.devices)
    devices = chosen.devices if strategy == "placed" else kept
    parameters = chosen.parameter_device if strategy == "central_storage" else None
    placed = (chosen.placed or Placed()) if strategy == "placed" else None
    return _set(plan, strategy=strategy, devices=devices, parameter_device=parameters, placed=placed)


def use_device(plan: Plan, name: str, machine: Machine, *, used: bool) -> Plan:
    """`plan` with a replica on a logical device, or without; in TensorFlow's order.

    All devices that are used without naming them are written as none named, so that the plan holds on another machine.
    The last one stays: a plan with no device named would use all.
    """
    logical = logical_devices(plan, machine)
    kept = [each for each in replicas(plan, machine) if each != name] + ([name] if used else [])
    if not kept:
        return plan
    order = {device.name: place for place, device in enumerate(logical)}
    names = tuple(sorted(dict.fromkeys(kept), key=lambda each: order.get(each, len(order))))
    return _set(plan, devices=() if names == default_devices(logical) else names)


def use_one_device(plan: Plan, name: str | None) -> Plan:
    """`plan` with all work on this logical device; None leaves it the first one."""
    return _set(plan, devices=(name,) if name else ())


def use_all_devices(plan: Plan) -> Plan:
    """`plan` with no logical device named."""
    return _set(plan, devices=())


def set_all_reduce(plan: Plan, name: str) -> Plan:
    """`plan` with another all-reduce."""
    return _set(plan, all_reduce=name)


def set_parameter_device(plan: Plan, name: str | None) -> Plan:
    """`plan` with its variables on this logical device; None leaves that to the trainer."""
    return _set(plan, parameter_device=name)


def set_micro_batches(plan: Plan, count: int) -> Plan:
    """`plan` with its batch cut into so many parts."""
    return _set(plan, placed=replace(plan.distribution.placed or Placed(), micro_batches=count))


def set_recompute(plan: Plan, recompute: bool) -> Plan:
    """`plan` with its stages keeping only their inputs for the backward pass, or all of it."""
    return _set(plan, placed=replace(plan.distribution.placed or Placed(), recompute=recompute))


def _set(plan: Plan, **values: Any) -> Plan:
    return replace(plan, distribution=replace(plan.distribution, **values))
