"""Predict the memory that a plan's training step takes on each logical device."""

from __future__ import annotations

from gpu_studio.placement.device_memory import MemoryShare, PredictedMemory, measured_too
from gpu_studio.placement.memory_placed import placed_memory
from gpu_studio.placement.memory_replicated import central_memory, mirrored_memory, single_memory
from gpu_studio.placement.plan_facts import ModelFacts, PlanFacts
from gpu_studio.plan import MIB, Machine, Plan, logical_devices, replicas, shares_of
from gpu_studio.plan.card_memory import AvailableMemory, available_memory
from gpu_studio.plan.replication import parameter_home
from gpu_studio.plan.strategies import strategy_of

__all__ = ["MemoryShare", "PredictedMemory", "predict"]


def predict(plan: Plan, machine: Machine, facts: PlanFacts) -> tuple[PredictedMemory, ...]:
    """The memory of every logical device of `plan` on `machine`, in TensorFlow's order.

    Empty if the model is not known or cannot be trained; an unused device has nothing. `none` and
    `one_device` are computed from the traced step; the other strategies add what they hold besides.
    Strategies over several machines count what this one holds.
    """
    if facts.model is None or facts.graph is None or not facts.model.steps:
        return ()
    taken = _taken(plan, machine, facts.model)
    logical = logical_devices(plan, machine)
    reported = {
        name: measured_too(memory, _factor(name, facts.model)) for name, memory in taken.items()
    }
    memories = [reported.get(each.name, PredictedMemory(each.name)) for each in logical]
    # Devices in use take their slices; the others leave theirs free.
    first = sorted(zip(memories, logical, strict=True), key=lambda pair: not pair[0].total)
    known = available_memory((device for _, device in first), machine)
    return tuple(memory.within(*_bytes(known[memory.device])) for memory in memories)


def _factor(device: str, model: ModelFacts) -> float | None:
    return model.corrections.get(device.partition(":")[0])


def _taken(plan: Plan, machine: Machine, model: ModelFacts) -> dict[str, PredictedMemory]:
    names = replicas(plan, machine)
    home = parameter_home(plan, machine)
    # A plan with no sample for some replica is refused elsewhere; here each gets at least one.
    batches = [max(1, share) for share in shares_of(plan, len(names))]
    if strategy_of(plan).places_layers:
        return placed_memory(plan, names, model, machine.cpu_cores)
    each = dict(zip(names, batches, strict=True))
    if len(names) < 2 and home in (None, *names):
        return {name: single_memory(name, batch, model) for name, batch in each.items()}
    if home is not None:
        return central_memory(home, each, model)
    return mirrored_memory(each, plan.distribution.all_reduce, model)


def _bytes(available: AvailableMemory) -> tuple[int | None, int | None]:
    most, now = (
        None if mib is None else mib * MIB for mib in (available.most_mib, available.now_mib)
    )
    return most, now
