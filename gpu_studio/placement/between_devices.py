"""What devices with layers send to each other, and what of it lies where, in bytes per sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_studio.placement.plan_facts import GraphLayer, ModelGraph

Devices = Mapping[str, Sequence[str]]
"""Of every layer."""


def received(graph: ModelGraph, device: str, devices: Devices, *, kept: bool = False) -> int:
    """What the layers on a device receive from elsewhere.

    Each tensor counts once. With `kept`, only what the backward pass needs there; what a layer
    passes on as it came is needed by those behind it. What meets an output that is here comes here,
    wherever it is taken then; see `met`.
    """
    here = {name for name, some in devices.items() if device in some}
    taken: set[str] = set()
    for layer in reversed(graph.layers):
        alone = len(layer.inputs) == 1 and not layer.kept_bytes
        passes_on = alone and layer.name in taken
        if layer.name in here and (not kept or layer.keeps_inputs or passes_on):
            taken.update(layer.arriving(here))
        if layer.name in here and not kept:
            taken.update(layer.meeting.others)
    return sum(layer.output_bytes for layer in graph.layers if layer.name in taken - here)


def met(graph: ModelGraph, device: str, devices: Devices) -> int:
    """What comes to meet outputs on a device, and the backward pass needs, counted once each."""
    here = {name for name, some in devices.items() if device in some}
    comes = {
        name
        for layer in graph.layers
        if layer.name in here and layer.meeting.kept
        for name in layer.meeting.others
    }
    return sum(layer.output_bytes for layer in graph.layers if layer.name in comes - here)


def waiting(graph: ModelGraph, device: str, devices: Devices, *, kept: bool) -> int:
    """What a device makes for others, less what its layers keep.

    Each tensor counts once. Without `kept` they keep nothing of it. Of outputs that have met, what
    was made of them here waits, which no layer keeps.
    """
    return sum(
        max(0, layer.meeting.bytes, layer.output_bytes - layer.kept_bytes * kept)
        for layer in _leaving(graph, device, devices)
    )


def joined(graph: ModelGraph, device: str, devices: Devices) -> int:
    """What a device makes for others of outputs that meet there."""
    return sum(layer.meeting.bytes for layer in _leaving(graph, device, devices))


def _leaving(graph: ModelGraph, device: str, devices: Devices) -> list[GraphLayer]:
    """The layers on a device whose outputs are needed elsewhere."""
    elsewhere = {
        name
        for layer in graph.layers
        if set(devices[layer.name]) - {device}
        for name in (*layer.inputs, *layer.meeting.others)
    }
    return [
        layer for layer in graph.layers if layer.name in elsewhere and device in devices[layer.name]
    ]
