"""What a step of a placed model sends between devices: each output, and the gradient for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpu_studio.placement.plan_facts import GraphLayer, ModelGraph
from gpu_studio.plan.homes import Devices, home_of, takers_of


@dataclass(frozen=True, slots=True)
class Transfer:
    """The output of `source` that `target` needs on another device, and its returning gradient.

    `bytes` are those of a whole step. If several layers there need it, it is sent once, and
    `target` is the first.
    """

    source: str
    target: str
    from_device: str
    to_device: str
    bytes: int


def transfers(graph: ModelGraph, places: Devices, batch: int) -> tuple[Transfer, ...]:
    """All transfers in a step of `batch` samples, in the order of the layers that send."""
    takers = takers_of(graph.feeds)
    trained = with_gradients(graph)
    found: list[Transfer] = []
    for layer in graph.layers:
        directions = 2 if layer.name in trained else 1
        found += _transfers_of(layer, takers[layer.name], places, batch * directions)
    return tuple(found)


def _transfers_of(
    layer: GraphLayer, takers: Sequence[str], places: Devices, samples: int
) -> Iterator[Transfer]:
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
    yield from (
        Transfer(layer.name, taker, home, device, size)
        for device, taker in there.items()
        if device != home
    )


def with_gradients(graph: ModelGraph) -> set[str]:
    """The layers whose output gets a gradient: a trained layer is before it, or it is one."""
    found: set[str] = set()
    for layer in graph.layers:
        if layer.trainable or found.intersection(layer.inputs):
            found.add(layer.name)
    return found
