"""Predict the memory of devices that each train the whole model: alone, mirrored, or central."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_studio.common.figures import grouped
from gpu_studio.placement.device_memory import (
    MemoryShare,
    PredictedMemory,
    counted,
    per_sample,
    slot_words,
    with_total,
)
from gpu_studio.placement.exchange import GATHERED, GATHERING, READING, SENDING
from gpu_studio.placement.plan_facts import ModelFacts, ModelGraph
from gpu_studio.placement.step_memory import ON_CARD, StepMemory
from gpu_studio.placement.work import is_copied_to

_MOMENTARY_WORDS = (
    "the batch itself, what operations need for a moment, and what the "
    "allocator gives out beyond what is asked"
)
_AHEAD_WORDS = "; on a card also the next two batches"
_AHEAD = 2
"""Batches that a card has besides that of the step: the next one is taken as soon as the loss is
known, and the one after it is then copied ahead."""
_UPDATING = 2
"""Temporary memory of an optimizer's update, in sizes of the weight."""
_PACKED = 2


def single_memory(device: str, batch: int, model: ModelFacts) -> PredictedMemory:
    """One device that trains the whole model on `batch` samples a step."""
    step = step_on(device, model)
    return _trained(device, batch, model, step.peak(batch) + step.lost)


def _trained(device: str, batch: int, model: ModelFacts, held: int) -> PredictedMemory:
    """One device whose step holds so much besides weights, slots and the batches ahead."""
    parts = replace(
        _variables(device, model),
        gradients=_gradients(model),
        activations=_activations(model, batch),
    )
    ahead = _ahead(device, batch, model)
    total = parts.weights.bytes + parts.slots.bytes + held + ahead + _shapes(device, model)
    return with_total(parts, total, _MOMENTARY_WORDS + (_AHEAD_WORDS if ahead else ""))


def _ahead(device: str, batch: int, model: ModelFacts) -> int:
    return 0 if device.startswith("CPU") else _AHEAD * _graph(model).input_bytes * batch


def _shapes(device: str, model: ModelFacts) -> int:
    """What turns of loops keep of shapes: on cards no step knows how many samples come."""
    kept = sum(layer.shape_bytes for layer in _graph(model).layers)
    return 0 if device.startswith("CPU") else kept


def mirrored_memory(
    batches: Mapping[str, int], way: str, model: ModelFacts
) -> dict[str, PredictedMemory]:
    """Every device has the model, and the sums of the gradients over the replicas.

    How they are summed decides who holds what. With `reduction_to_one_device` the first device
    receives the gradients of all. `hierarchical_copy` packs all gradients into one tensor, and so
    holds all of them, packed and summed. The others sum one after the other, when all are there;
    so do logical CPUs in any case: they share their memory, and copy nothing.
    """
    first = next(iter(batches), "")
    if way == "reduction_to_one_device" and is_copied_to(first):
        found = {
            name: _gathering(name, batch, len(batches), model)
            if name == first
            else _sending(name, batch, model)
            for name, batch in batches.items()
        }
    else:
        found = {
            name: _reducing(single_memory(name, batch, model), way, model)
            for name, batch in batches.items()
        }
    rows = _rows_of_others(batches, model) if is_copied_to(first) else {}
    return {name: _with_rows(each, rows.get(name, 0)) for name, each in found.items()}


def _rows_of_others(batches: Mapping[str, int], model: ModelFacts) -> dict[str, int]:
    """What each card has of rows that the other replicas look up.

    The sum of gradients of rows has those of all. While a table is changed so have their squares,
    in the place of what changes it; those that change other tables are not there then.
    """
    tables = [layer for layer in _graph(model).layers if layer.row_bytes]
    every, found = sum(batches.values()), dict.fromkeys(batches, 0)
    changes = 2 * sum(each.trainable_bytes for each in tables)
    for name, own in batches.items():
        others = sum(each.row_bytes for each in tables) * (every - own)
        squares = max(
            (each.row_bytes * every + each.trainable_bytes - changes for each in tables), default=0
        )
        found[name] = round(ON_CARD * (others + max(0, min(others, squares))))
    return found


def _with_rows(memory: PredictedMemory, size: int) -> PredictedMemory:
    if not size:
        return memory
    more = with_total(memory, memory.total + size, memory.other.formula)
    return _with_words(more, f"the rows that the other replicas look up, {grouped(size)} B")


def _gathering(name: str, batch: int, count: int, model: ModelFacts) -> PredictedMemory:
    """The device that receives the gradients of all `count` replicas.

    The others may be ahead: then theirs are all there when its own step is at its fullest. Of
    fewer or more than are rehearsed, the gradients of each count alike; a layer that is updated has
    those of the others no more.
    """
    alone, gradients = step_on(name, model), _gradients(model).bytes
    rehearsed = model.steps.get(GATHERING)
    there = (
        rehearsed.peak(batch)
        if rehearsed
        else alone.peak(batch) + round(ON_CARD * (GATHERED - 1) * gradients)
    )
    missing = (count - GATHERED) * gradients
    waiting = (count - 1) * (gradients - _largest_gradient(model))
    held = max(
        there + round(missing * (ON_CARD if missing > 0 else 1.0)),
        alone.peak(batch) + round(ON_CARD * waiting),
    )
    words = f"the gradients of the other {count - 1} replicas, {grouped((count - 1) * gradients)} B"
    return _with_words(_trained(name, batch, model, held + alone.lost), words)


def _sending(name: str, batch: int, model: ModelFacts) -> PredictedMemory:
    """A device that sends each gradient away when it has it, and receives their sums.

    Its variables are copies of the first device's: nothing is lost between them.
    """
    step = model.steps.get(SENDING) or step_on(name, model)
    words = "each gradient goes to the first device, and its sum comes back"
    return _with_words(_trained(name, batch, model, step.peak(batch)), words)


def _with_words(memory: PredictedMemory, words: str) -> PredictedMemory:
    return with_total(memory, memory.total, f"{memory.other.formula}; {words}")


def central_memory(
    home: str, batches: Mapping[str, int], model: ModelFacts
) -> dict[str, PredictedMemory]:
    """The variables are at `home`, which sums the replicas' gradients one by one.

    Each reads the weights.
    """
    memories = {name: _reader(name, home, batch, model) for name, batch in batches.items()}
    largest = _largest_gradient(model)
    gathered = (len(batches) + _UPDATING) * largest
    words = (
        f"the largest layer's gradients of {len(batches)} replicas and its update, "
        f"{grouped(gathered)} B"
    )
    if home not in memories:
        keeper = _variables(home, model)
        return memories | {
            home: with_total(keeper, keeper.weights.bytes + keeper.slots.bytes + gathered, words)
        }
    keeper, gathered = memories[home], len(batches) * largest
    words = (
        f"{_MOMENTARY_WORDS}; the largest layer's gradients of {len(batches)} "
        f"replicas, {grouped(gathered)} B"
    )
    return memories | {home: with_total(keeper, keeper.total + gathered, words)}


def step_on(device: str, model: ModelFacts) -> StepMemory:
    """What a step holds on this kind of device."""
    return model.steps["CPU" if device.startswith("CPU") else "GPU"]


def _reader(name: str, home: str, batch: int, model: ModelFacts) -> PredictedMemory:
    alone = single_memory(name, batch, model)
    if name == home:
        return alone
    copy = MemoryShare(alone.weights.bytes, f"a copy for the step: {alone.weights.formula}")
    if name.startswith("CPU") and home.startswith("CPU"):
        copy = MemoryShare(
            0, f"nothing: logical CPUs share their memory, and the weights are on {home}"
        )
    elsewhere = replace(alone, weights=copy, slots=MemoryShare(0, f"nothing: they are on {home}"))
    rehearsed = None if name.startswith("CPU") else model.steps.get(READING)
    if rehearsed is None:
        missing = alone.weights.bytes - copy.bytes + alone.slots.bytes
        return with_total(elsewhere, alone.total - missing, _MOMENTARY_WORDS)
    total = rehearsed.peak(batch) + _ahead(name, batch, model) + _shapes(name, model)
    return with_total(elsewhere, total, _MOMENTARY_WORDS + _AHEAD_WORDS)


def _reducing(alone: PredictedMemory, way: str, model: ModelFacts) -> PredictedMemory:
    packed = way == "hierarchical_copy"
    # Of rows that are looked up the gradients are gathered, each by itself.
    dense = [each.trainable_bytes for each in _graph(model).layers if not each.row_bytes]
    largest = max(dense, default=0)
    # On cards all wait for the last one: those of other layers lie beside its kernels.
    waiting = sum(dense) - largest if is_copied_to(alone.device) else 0
    summed = _PACKED * sum(dense) if packed else max(largest, waiting)
    what = (
        "all gradients packed, and their sum"
        if packed
        else "the gradients of other layers that wait"
        if waiting > largest
        else "the largest layer's gradients summed over the replicas"
    )
    return with_total(
        alone, alone.total + summed, f"{_MOMENTARY_WORDS}; {what}, {grouped(summed)} B"
    )


def _largest_gradient(model: ModelFacts) -> int:
    return max((layer.trainable_bytes for layer in _graph(model).layers), default=0)


def _variables(device: str, model: ModelFacts) -> PredictedMemory:
    return PredictedMemory(device, weights=_weights(model), slots=_slots(model))


def _graph(model: ModelFacts) -> ModelGraph:
    return model.graph or ModelGraph("", ())


def _weights(model: ModelFacts) -> MemoryShare:
    size = sum(layer.weight_bytes for layer in _graph(model).layers)
    state = f" + {grouped(model.state_bytes)} B of random state" if model.state_bytes else ""
    return MemoryShare(
        size + model.state_bytes, counted(_graph(model).parameters, "parameters", size) + state
    )


def _gradients(model: ModelFacts) -> MemoryShare:
    size = sum(layer.trainable_bytes for layer in _graph(model).layers)
    return MemoryShare(size, counted(_graph(model).trainable, "trainable parameters", size))


def _slots(model: ModelFacts) -> MemoryShare:
    trainable = sum(layer.trainable_bytes for layer in _graph(model).layers)
    return MemoryShare(
        model.slot_bytes, slot_words(sum(model.slots.values()), trainable, model.shared_slots)
    )


def _activations(model: ModelFacts, batch: int) -> MemoryShare:
    size = sum(layer.kept_bytes for layer in _graph(model).layers)
    return MemoryShare(size * batch, f"{per_sample(size, batch)}, kept for the backward pass")
