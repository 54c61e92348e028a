"""Edits of a plan's distribution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpu_studio.plan import Machine, Placed, Plan, logical_devices, replicas
from gpu_studio.plan.logical import default_devices
from gpu_studio.plan.strategies import strategy_named


def set_strategy(plan: Plan, strategy: str) -> Plan:
    """`plan` with another strategy, without the settings that only the previous one used."""
    return replace(plan, distribution=strategy_named(strategy).instead_of(plan.distribution))


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
    return _set(plan, devices=() if names == default_devices(logical) else names)


def use_one_device(plan: Plan, name: str | None) -> Plan:
    """`plan` with all work on this logical device; None chooses the first one."""
    return _set(plan, devices=(name,) if name else ())


def use_all_devices(plan: Plan) -> Plan:
    """`plan` without any named logical device."""
    return _set(plan, devices=())


def set_all_reduce(plan: Plan, name: str) -> Plan:
    """`plan` with another all-reduce."""
    return _set(plan, all_reduce=name)


def set_parameter_device(plan: Plan, name: str | None) -> Plan:
    """`plan` with its variables on this logical device; None leaves that to the trainer."""
    return _set(plan, parameter_device=name)


def set_micro_batches(plan: Plan, count: int) -> Plan:
    """`plan` with its batch cut into this many micro-batches."""
    return _set(plan, placed=replace(plan.distribution.placed or Placed(), micro_batches=count))


def set_recompute(plan: Plan, recompute: bool) -> Plan:
    """`plan` with stages that keep only their inputs for the backward pass, or all activations."""
    return _set(plan, placed=replace(plan.distribution.placed or Placed(), recompute=recompute))


def _set(plan: Plan, **values: Any) -> Plan:
    return replace(plan, distribution=replace(plan.distribution, **values))
