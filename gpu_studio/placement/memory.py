"""Predict the memory that a plan's training step takes on each logical device.

A replica has the whole model: on one device, mirrored, or with central variables. Of a placed
model each device has some layers, and the batch passes through them in micro-batches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gpu_studio.common.figures import grouped
from gpu_studio.placement.between_devices import (
    Pairs,
    added_up,
    coming,
    doubled,
    doubles,
    is_taken_here,
)
from gpu_studio.placement.compiled_steps import noted
from gpu_studio.placement.cudnn_reserve import is_real_card, with_workspaces
from gpu_studio.placement.device_load import (
    NOTHING_COMES,
    DeviceLoad,
    GradientsBack,
    recomputed,
    used_at_once,
)
from gpu_studio.placement.device_memory import (
    MemoryShare,
    PredictedMemory,
    counted,
    measured_too,
    per_sample,
    slot_words,
    up_to,
    with_total,
)
from gpu_studio.placement.memory_replicated import (
    central_memory,
    mirrored_memory,
    single_memory,
)
from gpu_studio.placement.plan_facts import GraphLayer, ModelFacts, ModelGraph, PlanFacts
from gpu_studio.placement.stage_memory import (
    Step,
    at_once,
    running,
    shares,
    turns_at_once,
    with_beyond,
)
from gpu_studio.placement.step_memory import ON_CARD, StepMemory
from gpu_studio.placement.work import is_copied_to
from gpu_studio.plan import (
    MIB,
    Machine,
    Placed,
    Plan,
    effective,
    in_all,
    logical_devices,
    parameter_home,
    replica_devices,
    replicas,
    shares_of,
    strategy_of,
)
from gpu_studio.plan.card_memory import AvailableMemory, available_memory


def predict(plan: Plan, machine: Machine, facts: PlanFacts) -> tuple[PredictedMemory, ...]:
    """The memory of every logical device of `plan` on `machine`, in TensorFlow's order.

    Empty if the model is not known or cannot be trained; an unused device has nothing. `none` and
    `one_device` are computed from the traced step; the other strategies add what they hold besides.
    Strategies over several machines count what this one holds.
    """
    if facts.model is None or facts.graph is None or not facts.model.steps:
        return ()
    taken = _by_strategy(plan, machine, facts.model)
    logical = logical_devices(plan, machine)
    reported = {
        name: measured_too(memory, _factor(name, facts.model)) for name, memory in taken.items()
    }
    reported = with_workspaces(reported, plan, machine, facts.graph)
    if compiles(plan, machine, facts):
        reported = noted(reported)
    memories = [reported.get(each.name, PredictedMemory(each.name)) for each in logical]
    # Devices in use take their slices; the others leave theirs free.
    first = sorted(zip(memories, logical, strict=True), key=lambda pair: not pair[0].total)
    known = available_memory((device for _, device in first), machine)
    return tuple(memory.within(*_bytes(known[memory.device])) for memory in memories)


def compiles(plan: Plan, machine: Machine, facts: PlanFacts) -> bool:
    """Whether XLA compiles the steps of `plan` on `machine`, as far as its model is known."""
    cards = [each for each in replica_devices(plan, machine) if each.name.startswith("GPU")]
    real = any(is_real_card(each, machine) for each in cards)
    if facts.model is None or (cards and not real):  # nothing is compiled for practice cards
        return False
    varies = facts.data is not None and facts.data.varies
    return facts.model.xla.compiles(plan, real=real, varies=varies)


def _factor(device: str, model: ModelFacts) -> float | None:
    return model.corrections.get(device.partition(":")[0])


def _by_strategy(plan: Plan, machine: Machine, model: ModelFacts) -> dict[str, PredictedMemory]:
    names = replicas(plan, machine)
    home = parameter_home(plan, machine)
    # A plan with no sample for some replica is refused elsewhere; here each gets at least one.
    batches = [max(1, share) for share in shares_of(plan, in_all(plan, names))]
    batches = batches[: len(names)]  # those of another worker are on its own devices
    if strategy_of(plan).places_layers:
        return placed_memory(plan, names, model, machine.cpu_cores)
    each = dict(zip(names, batches, strict=True))
    if len(names) < 2 and home in (None, *names):
        return {name: single_memory(name, batch, model) for name, batch in each.items()}
    if home is not None:
        return central_memory(home, each, model)
    return mirrored_memory(each, effective(plan, machine), model)


def _bytes(available: AvailableMemory) -> tuple[int | None, int | None]:
    most, now = (
        None if mib is None else mib * MIB for mib in (available.most_mib, available.now_mib)
    )
    return most, now


_PASSING = (
    "how many micro-batches pass through logical CPUs at once is left to TensorFlow, and most "
    "steps hold less"
)


def placed_memory(
    plan: Plan, names: Sequence[str], model: ModelFacts, cores: int
) -> dict[str, PredictedMemory]:
    """The memory of each device that has layers. `cores` are those of the machine."""
    placed = plan.distribution.placed or Placed()
    graph = model.graph or ModelGraph("", ())
    batch, parts = max(1, plan.training.batch_size), max(1, placed.micro_batches)
    devices = graph.devices_of(placed.layers, names)
    loads = _loads(placed, devices, model, graph, batch, adding=True)
    most, turns = _under_way(loads, cores), turns_at_once(list(devices.values()))
    steps = {
        name: Step(batch, parts, min(most, turns.get(name, most)), name in turns) for name in loads
    }
    first = next(iter(loads), "")
    memories = {
        name: _placed_part(
            name,
            load,
            _placed_step(name, steps[name], model, graph, cores),
            model.shared_slots if name == first else 0,
        )
        for name, load in loads.items()
    }
    whole = parts == 1 and not placed.recompute and all(name.startswith("CPU") for name in loads)
    if whole:
        return _of_one_memory(memories, batch, model.steps.get("CPU"))
    return {
        name: up_to(each, _PASSING) if parts > 1 and name.startswith("CPU") else each
        for name, each in memories.items()
    }


def _of_one_memory(
    memories: dict[str, PredictedMemory], batch: int, step: StepMemory | None
) -> dict[str, PredictedMemory]:
    """What logical CPUs hold that train a batch in one piece: parts of the memory that they share.

    Each by itself is full at another moment, so that the sum of what they hold then is there at no
    time. Together they hold what one CPU would, for nothing is copied between them (measured: 0.94
    to 1.13 of it, where the sum was up to 1.40); each has its part of that. A search compares
    placements by each device's own moment, as for devices with memories of their own.
    """
    lasting = {name: each.weights.bytes + each.slots.bytes for name, each in memories.items()}
    alone = sum(each.total - lasting[name] for name, each in memories.items())
    if step is None or not alone:
        return memories
    share = (step.peak(batch) + step.lost) / alone
    return {
        name: with_total(
            each,
            lasting[name] + round(share * (each.total - lasting[name])),
            f"{each.other.formula}; scaled to its part of the fullest moment of the memory that "
            "all logical CPUs share",
        )
        for name, each in memories.items()
    }


def _loads(
    placed: Placed,
    devices_by_layer: Mapping[str, Sequence[str]],
    model: ModelFacts,
    graph: ModelGraph,
    batch: int,
    *,
    adding: bool = False,
) -> dict[str, DeviceLoad]:
    """What is on each device; with `adding` the gradients that several others send for an output.

    A search knows how many take it when all layers are placed (`taking_cards`).
    """
    loads: dict[str, DeviceLoad] = {}
    here, before, pairs = _by_device(devices_by_layer), tuple[str, ...](), doubles(graph)
    for layer, part_of_model in zip(graph.layers, _shares(graph, batch), strict=True):
        devices = devices_by_layer[layer.name]
        keeps = len(devices) > 1 or not placed.recompute
        begins = placed.recompute and tuple(devices) != before
        for device in devices:
            load = loads.setdefault(device, DeviceLoad(is_copied_to(device)))
            back = NOTHING_COMES
            if load.sent:
                back = _coming_back(graph, layer, device, devices_by_layer, pairs, adding=adding)
            outlives = back.coming and not is_taken_here(graph, layer, device, devices_by_layer)
            load.add(
                layer if outlives else used_at_once(layer),
                model.slots.get(layer.name, 0),
                1 / len(devices),
                keeps=keeps,
                begins=begins,
                back=back,
                here=here[device] if load.sent else (),
            )
            load.shapes += layer.shape_bytes * load.sent
            load.taken = load.taken if layer.inputs else graph.input_bytes
            load.share += part_of_model / len(devices)
        before = tuple(devices)
    _exchange(loads, graph, devices_by_layer, recompute=placed.recompute)
    return loads


def _by_device(devices: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """The layers of each device."""
    every = {device for some in devices.values() for device in some}
    return {
        each: frozenset(name for name, some in devices.items() if each in some) for each in every
    }


def _exchange(
    loads: Mapping[str, DeviceLoad],
    graph: ModelGraph,
    devices: Mapping[str, Sequence[str]],
    *,
    recompute: bool,
) -> None:
    """Count what devices send each other, and what they compute again."""
    for device, load in loads.items():
        if load.sent:
            load.receive(graph, device, devices, recompute=recompute)
    for device, found in recomputed(graph, devices).items() if recompute else ():
        loads[device].recompute(found)


def _coming_back(
    graph: ModelGraph,
    layer: GraphLayer,
    device: str,
    devices: Mapping[str, Sequence[str]],
    pairs: Pairs,
    *,
    adding: bool,
) -> GradientsBack:
    return GradientsBack(
        coming(graph, layer, device, devices),
        doubled(graph, layer, device, devices, pairs),
        added_up(graph, layer, device, devices) if adding else 0,
    )


def _shares(graph: ModelGraph, batch: int) -> list[float]:
    kept = np.array([float(layer.kept_bytes) for layer in graph.layers])
    gradients = np.array([float(layer.trainable_bytes) for layer in graph.layers])
    return [float(share) for share in shares(kept, gradients, batch)]


def _placed_step(device: str, step: Step, model: ModelFacts, graph: ModelGraph, cores: int) -> Step:
    """The step with what a device of this kind holds beyond the formula."""
    cpu = device.startswith("CPU")
    whole = DeviceLoad(sent=not cpu, taken=graph.input_bytes)
    for layer in graph.layers:
        whole.add(layer, 0, 1.0, keeps=True)
    whole.share = 1.0
    at_work = running(step.micro_batches, step.under_way, cores if cpu else 1)
    step = replace(step, margin=1.0 if cpu else ON_CARD)
    return with_beyond(step, whole.stage(), whole.going_back(step), model.steps, at_work)


def _under_way(devices: Collection[str], cores: int) -> int:
    return at_once(len(devices), cores if any(name.startswith("CPU") for name in devices) else 0)


def _placed_part(name: str, load: DeviceLoad, step: Step, shared: int) -> PredictedMemory:
    trained = counted(round(load.trainable), "trainable parameters here", round(load.gradients))
    memory = PredictedMemory(
        name,
        weights=_part(
            load.weights, counted(round(load.parameters), "parameters here", round(load.weights))
        ),
        gradients=_part(load.gradients, trained),
        slots=_part(
            load.slots + shared, slot_words(round(load.slots), round(load.gradients), shared)
        ),
        activations=_part(
            load.received * step.arrived + load.kept * step.samples, _kept_words(load, step)
        ),
    )
    total = memory.weights.bytes + memory.slots.bytes + load.step(step)
    return with_total(memory, total, _momentary_words(load, step))


def _part(size: float, words: str) -> MemoryShare:
    return MemoryShare(round(size), words)


def _kept_words(load: DeviceLoad, step: Step) -> str:
    flight = (
        f" ({min(step.micro_batches, step.under_way)} micro-batches in flight)"
        if step.micro_batches > 1
        else ""
    )
    return f"{per_sample(round(load.kept), step.samples)}{flight}, kept for the backward pass"


def _momentary_words(load: DeviceLoad, step: Step) -> str:
    words = (
        f"the largest output here and its gradient, {per_sample(round(load.passing), step.part)}"
    )
    if load.taken:
        words = f"the batch itself, {per_sample(load.taken, step.batch)}; {words}"
    if load.again:
        words = (
            f"{words}; what one stage computes again, {per_sample(round(load.again), step.part)}"
        )
    if step.beyond * load.share >= 1:
        words = (
            f"{words}; what operations and the allocator take besides, "
            f"{grouped(round(step.beyond * load.share))} B"
        )
    gradients = step.summed
    held = f"{gradients} gradients of each variable, to be summed, or " if gradients > 1 else ""
    return (
        f"{words}; or, if that is more, {held}what updates need besides, "
        f"{grouped(round(load.updating))} B"
    )
