"""Derive the numbers that placing needs from a model's facts: measured times, or else FLOPs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from gpu_studio.placement.model_graph import GraphLayer, ModelGraph
from gpu_studio.placement.plan_facts import ModelFacts
from gpu_studio.placement.transfers import with_gradients
from gpu_studio.placement.work import Array, Device, Work
from gpu_studio.plan import PlannedDevice


@dataclass(frozen=True, slots=True)
class LayerTime:
    """A layer's time on a device, in seconds: `fixed + per_sample · batch` per pass, plus `update`.

    `share` is the fraction of the machine's cores that this occupies on devices that share them:
    with 0.5 two of them run at once without slowing down.
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
    """Times on a device of one FLOP per second: in proportion if layers are compute-bound."""
    return {
        layer.name: LayerTime(
            forward_per_sample=layer.flops_forward, backward_per_sample=layer.flops_backward
        )
        for layer in graph.layers
    }


def times_in(answer: Mapping[str, Any], devices: Sequence[PlannedDevice]) -> dict[str, Times]:
    """The times on each of `devices`, measured on the first of each physical device, in an answer.

    Raises ValueError if it is not such an answer of the trainer.
    """
    measured = msgspec.convert(answer.get("times"), dict[str, dict[str, LayerTime]], strict=False)
    physical = {device.name: device.physical for device in devices}
    by_kind = {physical[name]: times for name, times in measured.items() if name in physical}
    return {
        device.name: by_kind[device.physical] for device in devices if device.physical in by_kind
    }


def links_in(answer: Mapping[str, Any], devices: Sequence[PlannedDevice]) -> dict[str, float]:
    """The bandwidth to each physical device from another, in bytes/s, in a trainer's answer.

    Devices to which nothing is copied are left out. Raises ValueError if it is not such an answer.
    """
    measured = msgspec.convert(answer.get("links", {}), dict[str, float], strict=False)
    return {device.physical: measured[device.name] for device in devices if device.name in measured}


def work_of(
    model: ModelFacts, devices: Sequence[Device], batch: int, times: Mapping[str, Times]
) -> Work:
    """The work of a training step of `batch` samples; `times` are given by device name.

    A layer without a time takes none. Raises ValueError if the model's layers are not known.
    """
    if model.graph is None:
        raise ValueError(
            "The layers of the model are not known: "
            f"{model.model_error or 'they were not asked for'}"
        )
    layers = model.graph.layers
    places = {layer.name: place for place, layer in enumerate(layers)}
    of = _times_of(layers, devices, times)
    returned = with_gradients(model.graph)
    return Work(
        names=tuple(places),
        inputs=tuple(
            tuple(places[name] for name in layer.inputs if places[name] < places[layer.name])
            for layer in layers
        ),
        fixed=_table([[time.forward_fixed + time.backward_fixed for time in row] for row in of]),
        per_sample=_table(
            [[time.forward_per_sample + time.backward_per_sample for time in row] for row in of]
        ),
        update=_table([[time.update for time in row] for row in of]),
        forward_share=np.array([_forward_share(time, batch) for time in of[0]]),
        output_bytes=np.array([float(layer.output_bytes) for layer in layers]),
        kept_bytes=np.array([float(layer.kept_bytes) for layer in layers]),
        passing_bytes=np.array(
            [2.0 * layer.output_bytes * bool(layer.flops_forward) for layer in layers]
        ),
        taken_bytes=np.array(
            [0.0 if layer.inputs else float(model.graph.input_bytes) for layer in layers]
        ),
        state_bytes=_state_bytes(layers, model),
        gradient_bytes=np.array([float(layer.trainable_bytes) for layer in layers]),
        batch=batch,
        share=tuple(_share(row) for row in of),
        later=tuple(
            tuple(places[name] for name in layer.inputs if places[name] > places[layer.name])
            for layer in layers
        ),
        directions=tuple(2 if layer.name in returned else 1 for layer in layers),
        rehearsed=model.steps,
    )


def _times_of(
    layers: Sequence[GraphLayer], devices: Sequence[Device], times: Mapping[str, Times]
) -> list[list[LayerTime]]:
    """The times of every layer on each device; devices with the same times share a row."""
    every = {id(times[device.name]): times[device.name] for device in devices}
    rows = {
        key: [some.get(layer.name, LayerTime()) for layer in layers] for key, some in every.items()
    }
    return [rows[id(times[device.name])] for device in devices]


def _share(times: Sequence[LayerTime]) -> float | None:
    known = [time.share for time in times if time.share is not None]
    return sum(known) / len(known) if known else None


def _table(rows: list[list[float]]) -> Array:
    return np.array(rows, dtype=np.float64)


def _state_bytes(layers: Sequence[GraphLayer], model: ModelFacts) -> Array:
    """Weights, gradients of the trained ones, and optimizer slots.

    Shared slots count for the first layer.
    """
    slots = [model.slots.get(layer.name, 0) for layer in layers]
    state = [
        float(layer.weight_bytes + layer.trainable_bytes + own)
        for layer, own in zip(layers, slots, strict=True)
    ]
    return np.array([size + model.shared_slots * (not place) for place, size in enumerate(state)])


def _forward_share(time: LayerTime, batch: int) -> float:
    forward = time.forward_fixed + time.forward_per_sample * batch
    whole = forward + time.backward_fixed + time.backward_per_sample * batch
    return forward / whole if whole else 1 / 3
