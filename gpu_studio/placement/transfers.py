"""What crosses from device to device in a training step of a placed model, edge by edge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpu_studio.placement.model_graph import Layer, ModelGraph

Places = Mapping[str, tuple[str, ...]]
"""The devices of every layer, by its name; several where its units are split."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """The output of `source` that `target` needs on another device, and its gradient that comes back.

    `bytes` are those of a whole step. Where several layers there need it, it is sent once, and `target` is the first.
    """

    source: str
    target: str
    from_device: str
    to_device: str
    bytes: int


def transfers(graph: ModelGraph, places: Places, batch: int) -> tuple[Transfer, ...]:
    """All that crosses in a step of `batch` samples, in the order of the layers that send it."""
    takers: dict[str, list[str]] = {layer.name: [] for layer in graph.layers}
    for layer in graph.layers:
        for name in layer.inputs:
            takers[name].append(layer.name)
    trained = with_gradients(graph)
    found: list[Transfer] = []
    for layer in graph.layers:
        ways = 2 if layer.name in trained else 1
        found += _sent(layer, takers[layer.name], places, batch * ways)
    return tuple(found)


def home_of(devices: Sequence[str], taken_on: Sequence[tuple[str, ...]]) -> str:
    """Where a layer's output is whole: of a split layer, with those who take it if they are all in one place."""
    places = set(taken_on)
    if len(devices) > 1 and len(places) == 1:
        (place,) = places
        if len(place) == 1:
            return place[0]
    return devices[0]


def _sent(layer: Layer, takers: Sequence[str], places: Places, samples: int) -> Iterator[Transfer]:
    devices = places[layer.name]
    home = home_of(devices, [places[taker] for taker in takers])
    size = layer.output_bytes * samples
    for device in devices:
        if device != home:
            yield Transfer(layer.name, layer.name, device, home, round(size / len(devices)))
    there: dict[str, str] = {}
    for taker in takers:
        for device in places[taker]:
            there.setdefault(device, taker)
    yield from (Transfer(layer.name, taker, home, device, size) for device, taker in there.items() if device != home)


def with_gradients(graph: ModelGraph) -> set[str]:
    """The layers whose output gets a gradient: something that is trained stands before it, or is in it."""
    found: set[str] = set()
    for layer in graph.layers:
        if layer.trainable or found.intersection(layer.inputs):
            found.add(layer.name)
    return found
