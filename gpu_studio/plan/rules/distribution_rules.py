"""Rules of `[distribution]`: a strategy that runs, on logical devices that there are, with enough to do for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpu_studio.plan.logical import CPU, LogicalDevice, cpus, default_devices, gpus, is_logical_name, logical_devices
from gpu_studio.plan.machine import Machine, title_of
from gpu_studio.plan.problems import Problem, choose_one, listed, shown
from gpu_studio.plan.rules.device_rules import there_are
from gpu_studio.plan.values import ALL_REDUCES, RUNNABLE_STRATEGIES, STRATEGIES, Plan

SPREADING = ("mirrored", "central_storage")
"""Strategies with a replica on each device."""


def strategy(plan: Plan) -> Iterator[Problem]:
    """The strategy is known, and this version runs it."""
    chosen = plan.distribution.strategy
    if chosen not in STRATEGIES:
        yield Problem("distribution.strategy", shown(chosen), choose_one(chosen, RUNNABLE_STRATEGIES))
    elif chosen not in RUNNABLE_STRATEGIES:
        able = listed(RUNNABLE_STRATEGIES, "or")
        advice = f"this strategy comes with a later version of GPU Studio; until then choose {able}"
        yield Problem("distribution.strategy", shown(chosen), advice)


def devices_of_strategy(plan: Plan) -> Iterator[Problem]:
    """`devices` and `parameter_device` are given only where the strategy has a use for them."""
    chosen = plan.distribution
    if chosen.strategy == "none" and chosen.devices:
        advice = 'leave them out, or choose strategy = "one_device" to say where it runs'
        yield Problem("distribution.devices", 'given with strategy "none"', advice)
    if chosen.strategy == "one_device" and len(chosen.devices) > 1:
        advice = 'name one device, or choose strategy = "mirrored"'
        yield Problem("distribution.devices", f'{len(chosen.devices)} devices with strategy "one_device"', advice)
    if chosen.parameter_device is not None and chosen.strategy != "central_storage":
        advice = 'leave it out; only the strategy "central_storage" keeps its variables on a device of their own'
        yield Problem("distribution.parameter_device", shown(chosen.parameter_device), advice)


def device_names(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """Every logical device named is one that TensorFlow will see, and is named once."""
    chosen = plan.distribution
    named = [(f"distribution.devices[{index}]", device) for index, device in enumerate(chosen.devices)]
    for device in [each for each, count in Counter(chosen.devices).items() if count > 1]:
        yield Problem("distribution.devices", f"given {shown(device)} more than once", "name each device once")
    if chosen.parameter_device is not None:
        named.append(("distribution.parameter_device", chosen.parameter_device))
    for field, device in named:
        yield from logical_problems(field, device, plan, machine)


def all_reduce(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """The all-reduce is known; NCCL is asked only to join whole cards, and halves only of what has two."""
    chosen = plan.distribution.all_reduce
    if chosen not in ALL_REDUCES:
        yield Problem("distribution.all_reduce", shown(chosen), choose_one(chosen, ALL_REDUCES))
    if plan.distribution.strategy != "mirrored":
        return
    if chosen == "nccl":
        yield from _nccl(plan, machine)
    elif chosen == "hierarchical_copy":
        yield from _halves(plan, machine)


def _halves(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """TensorFlow 2.21 sums two halves of `count // 2` replicas, and so leaves out the last of an odd number."""
    names, known = plan.distribution.devices, _certain(plan, machine)
    count = len(names or default_devices(known or ()))
    if count > 1 and count % 2:
        advice = 'it sums two equal halves and would leave out the last replica: choose "auto", or use an even number'
        yield Problem("distribution.all_reduce", f'"hierarchical_copy" with {count} replicas', advice)


def _nccl(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    holding = _holding_replicas(plan, machine)
    advice = 'choose "auto", which takes what suits the devices'
    if any(device.name.startswith("CPU") for device in holding):
        yield Problem("distribution.all_reduce", '"nccl" on CPUs', f"NCCL joins NVIDIA cards only: {advice}")
    shared = [card for card, count in Counter(device.physical for device in holding).items() if count > 1]
    if any(card.startswith("GPU") for card in shared):
        why = f"NCCL refuses two replicas on one card, here {listed(map(title_of, shared))}: {advice}"
        yield Problem("distribution.all_reduce", '"nccl" with several slices of a card', why)


def enough_for_each(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """A global batch has a sample for every replica."""
    training, chosen = plan.training, plan.distribution
    if training.batch_scope != "global" or training.batch_size < 1 or chosen.strategy not in SPREADING:
        return
    count = len(chosen.devices or _holding_replicas(plan, machine))
    if training.batch_size < count:
        advice = f'{count} replicas share a batch: give {count} or more, or set batch_scope = "replica"'
        yield Problem("training.batch_size", str(training.batch_size), advice)


def _holding_replicas(plan: Plan, machine: Machine | None) -> tuple[LogicalDevice, ...]:
    """The logical devices that hold replicas, as far as that is certain without a machine."""
    known, names = _certain(plan, machine), plan.distribution.devices
    if known is not None:
        return tuple(device for device in known if device.name in (names or default_devices(known)))
    if names:
        return tuple(LogicalDevice(name, name) for name in names)
    return gpus(plan.devices, _carved_cards(plan))


def _carved_cards(plan: Plan) -> tuple[str, ...]:
    return tuple(carve.device for carve in plan.devices.carve if carve.device != CPU)


def _certain(plan: Plan, machine: Machine | None) -> tuple[LogicalDevice, ...] | None:
    """All logical devices; None if that needs a machine, because the plan does not say how many cards there are."""
    if machine:
        return logical_devices(plan, machine)
    if not plan.devices.visible:
        return None
    cards = [device for device in plan.devices.visible if device != CPU]
    return gpus(plan.devices, cards) + cpus(plan.devices)


def logical_problems(field: str, device: str, plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """What is wrong with a logical device that `field` names: its form, or that TensorFlow will not see it."""
    if not is_logical_name(device):
        yield Problem(field, shown(device), 'write the name that TensorFlow gives a logical device, "GPU:0" or "CPU:0"')
        return
    known = _certain(plan, machine)
    if known is None and device.startswith("GPU"):
        return
    logical = cpus(plan.devices) if known is None else known
    if device not in [each.name for each in logical]:
        why = f"; {there_are(machine)}" if machine and device.startswith("GPU") and not machine.cards else ""
        yield Problem(field, shown(device), f"there is no such logical device: there {_are(logical)}{why}")


def _are(logical: tuple[LogicalDevice, ...]) -> str:
    """`are GPU:0 … GPU:3 and CPU:0`."""
    spans: list[str] = []
    for kind in ("GPU", "CPU"):
        names = [device.name for device in logical if device.name.startswith(kind)]
        spans += names if len(names) <= 2 else [f"{names[0]} … {names[-1]}"]
    return f"{'is' if len(logical) == 1 else 'are'} {listed(spans)}"
