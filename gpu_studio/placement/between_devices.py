"""What devices with layers send to each other, and what of it lies where, in bytes per sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_studio.placement.plan_facts import ModelGraph

Devices = Mapping[str, Sequence[str]]
"""Of every layer."""


def received(graph: ModelGraph, device: str, devices: Devices, *, kept: bool = False) -> int:
    """What the layers on a device receive from elsewhere.

    Each tensor counts once. With `kept`, only what the backward pass needs there; what a layer
    passes on as it came is needed by those behind it.
    """
    here = {name for name, some in devices.items() if device in some}
    taken: set[str] = set()
    for layer in reversed(graph.layers):
        alone = len(layer.inputs) == 1 and not layer.kept_bytes
        passes_on = alone and layer.name in taken
        if layer.name in here and (not kept or layer.keeps_inputs or passes_on):
            taken.update(layer.arriving(here))
    return sum(layer.output_bytes for layer in graph.layers if layer.name in taken - here)


def waiting(graph: ModelGraph, device: str, devices: Devices, *, kept: bool) -> int:
    """What a device makes for others, less what its layers keep.

    Each tensor counts once. Without `kept` they keep nothing of it.
    """
    elsewhere = {
        name
        for layer in graph.layers
        if set(devices[layer.name]) - {device}
        for name in layer.inputs
    }
    return sum(
        max(0, layer.output_bytes - layer.kept_bytes * kept)
        for layer in graph.layers
        if layer.name in elsewhere and device in devices[layer.name]
    )
