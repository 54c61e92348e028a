"""Memory where each replica has the whole model: one device, mirrored, or central variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_studio.placement.device_memory import (
    MemoryShare,
    PredictedMemory,
    counted,
    per_sample,
    with_total,
)
from gpu_studio.placement.model_graph import ModelGraph
from gpu_studio.placement.plan_facts import ModelFacts
from gpu_studio.placement.step_memory import StepMemory

_MOMENTARY = (
    "the batch itself, what operations need for a moment, and what the "
    "allocator gives out beyond what is asked"
)
_UPDATING = 2
"""Temporary memory of an optimizer's update, in sizes of the weight."""
_PACKED = 2


def single_memory(device: str, batch: int, model: ModelFacts) -> PredictedMemory:
    """One device that trains the whole model on `batch` samples a step."""
    parts = replace(
        _variables(device, model),
        gradients=_gradients(model),
        activations=_activations(model, batch),
    )
    total = parts.weights.bytes + parts.slots.bytes + step_on(device, model).peak(batch)
    return with_total(parts, total, _MOMENTARY)


def mirrored_memory(
    batches: Mapping[str, int], way: str, model: ModelFacts
) -> dict[str, PredictedMemory]:
    """Every device has the model, and for each gradient also its sum over the replicas.

    Only `hierarchical_copy` packs all gradients into one tensor, and so holds all of them, packed
    and summed.
    """
    return {
        name: _reducing(single_memory(name, batch, model), way, model)
        for name, batch in batches.items()
    }


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
        f"the largest layer's gradients of {len(batches)} replicas and its update, {gathered:,} B"
    )
    if home not in memories:
        keeper = _variables(home, model)
        return memories | {
            home: with_total(keeper, keeper.weights.bytes + keeper.slots.bytes + gathered, words)
        }
    keeper, gathered = memories[home], len(batches) * largest
    words = (
        f"{_MOMENTARY}; the largest layer's gradients of {len(batches)} replicas, {gathered:,} B"
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
    missing = alone.weights.bytes - copy.bytes + alone.slots.bytes
    return with_total(elsewhere, alone.total - missing, _MOMENTARY)


def _reducing(alone: PredictedMemory, way: str, model: ModelFacts) -> PredictedMemory:
    packed = way == "hierarchical_copy"
    summed = _PACKED * alone.gradients.bytes if packed else _largest_gradient(model)
    what = (
        "all gradients packed, and their sum"
        if packed
        else "the largest layer's gradients summed over the replicas"
    )
    return with_total(alone, alone.total + summed, f"{_MOMENTARY}; {what}, {summed:,} B")


def _largest_gradient(model: ModelFacts) -> int:
    return max((layer.trainable_bytes for layer in _graph(model).layers), default=0)


def _variables(device: str, model: ModelFacts) -> PredictedMemory:
    return PredictedMemory(device, weights=_weights(model), slots=_slots(model))


def _graph(model: ModelFacts) -> ModelGraph:
    return model.graph or ModelGraph("", ())


def _weights(model: ModelFacts) -> MemoryShare:
    size = sum(layer.weight_bytes for layer in _graph(model).layers)
    state = f" + {model.state_bytes:,} B of random state" if model.state_bytes else ""
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


def slot_words(owned: int, trainable: int, shared: int) -> str:
    """The optimizer's variables in words: those of each trainable weight, and shared ones."""
    times = (
        f"{owned / trainable:g} × {trainable:,} B of trainable parameters"
        if trainable
        else f"{owned:,} B"
    )
    return f"{times} + {shared:,} B of counters and learning rate"


def _activations(model: ModelFacts, batch: int) -> MemoryShare:
    size = sum(layer.kept_bytes for layer in _graph(model).layers)
    return MemoryShare(size * batch, f"{per_sample(size, batch)}, kept for the backward pass")
