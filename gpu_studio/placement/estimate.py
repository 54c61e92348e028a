"""From what is known of a model to the numbers that placing needs: measured times if there are some, else FLOPs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from gpu_studio.placement.model_graph import Layer, ModelGraph
from gpu_studio.placement.plan_facts import ModelFacts
from gpu_studio.placement.transfers import with_gradients
from gpu_studio.placement.work import Array, Device, Work
from gpu_studio.plan import LogicalDevice


@dataclass(frozen=True, slots=True)
class LayerTime:
    """The time of a layer on a device, in seconds: a pass takes `fixed + per_sample · batch`, the update `update`.

    `share` is the part of the machine's cores that this occupies, where devices share them: with 0.5 two of them work
    at once and neither takes longer.
    """

    forward_fixed: float = 0.0
    forward_per_sample: float = 0.0
    backward_fixed: float = 0.0
    backward_per_sample: float = 0.0
    update: float = 0.0
    share: float | None = None


Times = Mapping[str, LayerTime]
"""By the names of the layers."""


def by_flops(graph: ModelGraph) -> Times:
    """Times on a device of one FLOP a second: right in relation to each other as far as layers are bound by compute."""
    return {
        layer.name: LayerTime(forward_per_sample=layer.flops_forward, backward_per_sample=layer.flops_backward)
        for layer in graph.layers
    }


def times_in(answer: Mapping[str, Any], devices: Sequence[LogicalDevice]) -> dict[str, Times]:
    """The times of each of `devices` in an answer of the trainer, measured on the first of each physical device.

    Raises ValueError if it is no such answer.
    """
    measured = msgspec.convert(answer.get("times"), dict[str, dict[str, LayerTime]], strict=False)
    physical = {device.name: device.physical for device in devices}
    by_kind = {physical[name]: times for name, times in measured.items() if name in physical}
    return {device.name: by_kind[device.physical] for device in devices if device.physical in by_kind}


def links_in(answer: Mapping[str, Any], devices: Sequence[LogicalDevice]) -> dict[str, float]:
    """How many bytes/s go to each physical device from another, in an answer of the trainer; without those not copied.

    Raises ValueError if it is no such answer.
    """
    measured = msgspec.convert(answer.get("links", {}), dict[str, float], strict=False)
    return {device.physical: measured[device.name] for device in devices if device.name in measured}


def work_of(model: ModelFacts, devices: Sequence[Device], batch: int, times: Mapping[str, Times]) -> Work:
    """The work of a training step of `batch` samples; `times` are those of each device, by its name.

    A layer that has no time takes none. Raises ValueError if the model's layers are not known.
    """
    if model.graph is None:
        raise ValueError(f"The layers of the model are not known: {model.model_error or 'they were not asked for'}")
    layers = model.graph.layers
    places = {layer.name: place for place, layer in enumerate(layers)}
    of = _times_of(layers, devices, times)
    returned = with_gradients(model.graph)
    return Work(
        names=tuple(places),
        inputs=tuple(
            tuple(places[name] for name in layer.inputs if places[name] < places[layer.name]) for layer in layers
        ),
        fixed=_table([[time.forward_fixed + time.backward_fixed for time in row] for row in of]),
        per_sample=_table([[time.forward_per_sample + time.backward_per_sample for time in row] for row in of]),
        update=_table([[time.update for time in row] for row in of]),
        forward_share=np.array([_forward_share(time, batch) for time in of[0]]),
        output_bytes=np.array([float(layer.output_bytes) for layer in layers]),
        kept_bytes=np.array([float(layer.kept_bytes) for layer in layers]),
        passing_bytes=np.array([2.0 * layer.output_bytes * bool(layer.flops_forward) for layer in layers]),
        taken_bytes=np.array([0.0 if layer.inputs else float(model.graph.input_bytes) for layer in layers]),
        state_bytes=_state_bytes(layers, model),
        gradient_bytes=np.array([float(layer.trainable_bytes) for layer in layers]),
        batch=batch,
        share=tuple(_share(row) for row in of),
        later=tuple(
            tuple(places[name] for name in layer.inputs if places[name] > places[layer.name]) for layer in layers
        ),
        ways=tuple(2 if layer.name in returned else 1 for layer in layers),
        rehearsed=model.steps,
    )


def _times_of(layers: Sequence[Layer], devices: Sequence[Device], times: Mapping[str, Times]) -> list[list[LayerTime]]:
    """The times of every layer on each device; devices that have the same share a row."""
    every = {id(times[device.name]): times[device.name] for device in devices}
    rows = {key: [some.get(layer.name, LayerTime()) for layer in layers] for key, some in every.items()}
    return [rows[id(times[device.name])] for device in devices]


def _share(times: Sequence[LayerTime]) -> float | None:
    known = [time.share for time in times if time.share is not None]
    return sum(known) / len(known) if known else None


def _table(rows: list[list[float]]) -> Array:
    return np.array(rows, dtype=np.float64)


def _state_bytes(layers: Sequence[Layer], model: ModelFacts) -> Array:
    """Weights, a gradient for each that is trained, and the optimizer's slots; its shared ones are with the first."""
    slots = [model.slots.get(layer.name, 0) for layer in layers]
    state = [float(layer.weight_bytes + layer.trainable_bytes + own) for layer, own in zip(layers, slots, strict=True)]
    return np.array([size + model.shared_slots * (not place) for place, size in enumerate(state)])


def _forward_share(time: LayerTime, batch: int) -> float:
    forward = time.forward_fixed + time.forward_per_sample * batch
    whole = forward + time.backward_fixed + time.backward_per_sample * batch
    return forward / whole if whole else 1 / 3
