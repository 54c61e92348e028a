"""Will it fit? What a plan's training step takes on each logical device, before it is trained."""

from __future__ import annotations

from gpu_studio.placement.device_memory import DeviceMemory, Part
from gpu_studio.placement.memory_placed import placed_memory
from gpu_studio.placement.memory_replicated import central_memory, mirrored_memory, single_memory
from gpu_studio.placement.plan_facts import ModelFacts, PlanFacts
from gpu_studio.plan import MIB, LogicalDevice, Machine, Plan, logical_devices, replicas

__all__ = ["DeviceMemory", "Part", "predict", "shares"]

_SINGLE = ("none", "one_device")


def predict(plan: Plan, machine: Machine, facts: PlanFacts) -> tuple[DeviceMemory, ...]:
    """The memory of every logical device of `plan` on `machine`, in TensorFlow's order.

    Empty as long as the model is not known, or cannot be trained; a device that takes no part has nothing. `none` and
    `one_device` are computed from the traced step; the other strategies add to it what they hold besides. Strategies
    over several machines count what this one holds of them.
    """
    if facts.model is None or facts.graph is None or not facts.model.steps:
        return ()
    taken = _taken(plan, machine, facts.model)
    logical = logical_devices(plan, machine)
    return tuple(_limited(taken.get(each.name, DeviceMemory(each.name)), each, machine) for each in logical)


def _taken(plan: Plan, machine: Machine, model: ModelFacts) -> dict[str, DeviceMemory]:
    names = replicas(plan, machine)
    strategy, batches = plan.distribution.strategy, shares(plan, len(names))
    if strategy == "placed":
        return placed_memory(plan, names, model)
    each = dict(zip(names, batches, strict=True))
    if strategy in _SINGLE or len(names) < 2:
        return {name: single_memory(name, batch, model) for name, batch in each.items()}
    if strategy == "central_storage":
        return central_memory(plan.distribution.parameter_device or "CPU:0", each, model)
    return mirrored_memory(each, plan.distribution.all_reduce, model)


def shares(plan: Plan, count: int) -> tuple[int, ...]:
    """How many samples of a full step each of `count` replicas gets."""
    size = max(1, plan.training.batch_size)
    if plan.training.batch_scope == "replica":
        return (size,) * count
    return tuple(max(1, size // count + (place < size % count)) for place in range(count))


def _limited(memory: DeviceMemory, device: LogicalDevice, machine: Machine) -> DeviceMemory:
    return memory.within(_limit(device, machine))


def _limit(device: LogicalDevice, machine: Machine) -> int | None:
    if device.limit_mib is not None:
        return device.limit_mib * MIB
    card = machine.card(device.physical)
    return None if card is None or card.usable_mib is None else card.usable_mib * MIB
