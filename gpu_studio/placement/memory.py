"""Will it fit? What a plan's training step takes on each logical device, before it is trained."""

from __future__ import annotations

from gpu_studio.placement.device_memory import DeviceMemory, Part, measured_too
from gpu_studio.placement.memory_placed import placed_memory
from gpu_studio.placement.memory_replicated import central_memory, mirrored_memory, single_memory
from gpu_studio.placement.plan_facts import ModelFacts, PlanFacts
from gpu_studio.plan import MIB, Machine, Plan, logical_devices, replicas, shares_of
from gpu_studio.plan.card_memory import Room, rooms

__all__ = ["DeviceMemory", "Part", "predict"]

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
    told = {name: measured_too(memory, _factor(name, facts.model)) for name, memory in taken.items()}
    memories = [told.get(each.name, DeviceMemory(each.name)) for each in logical]
    # Those that take part take their slices; the others leave theirs.
    first = sorted(zip(memories, logical, strict=True), key=lambda pair: not pair[0].total)
    known = rooms((device for _, device in first), machine)
    return tuple(memory.within(*_bytes(known[memory.device])) for memory in memories)


def _factor(device: str, model: ModelFacts) -> float | None:
    return model.corrections.get(device.partition(":")[0])


def _taken(plan: Plan, machine: Machine, model: ModelFacts) -> dict[str, DeviceMemory]:
    names = replicas(plan, machine)
    strategy = plan.distribution.strategy
    # A plan that gives a replica no sample is refused elsewhere; here it counts as one.
    batches = [max(1, share) for share in shares_of(plan, len(names))]
    if strategy == "placed":
        return placed_memory(plan, names, model, machine.cpu_cores)
    each = dict(zip(names, batches, strict=True))
    if strategy in _SINGLE or len(names) < 2:
        return {name: single_memory(name, batch, model) for name, batch in each.items()}
    if strategy == "central_storage":
        return central_memory(plan.distribution.parameter_device or "CPU:0", each, model)
    return mirrored_memory(each, plan.distribution.all_reduce, model)


def _bytes(room: Room) -> tuple[int | None, int | None]:
    most, now = (None if mib is None else mib * MIB for mib in (room.most_mib, room.now_mib))
    return most, now
