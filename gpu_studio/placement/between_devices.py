"""What devices with layers send to each other, and what of it lies where, in bytes per sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from gpu_studio.placement.plan_facts import GraphLayer, ModelGraph

Pairs = Sequence[tuple[int, int, int, int]]
"""What `doubles` finds in a graph."""

Devices = Mapping[str, Sequence[str]]
"""Of every layer."""


def received(graph: ModelGraph, device: str, devices: Devices, *, kept: bool = False) -> int:
    """What the layers on a device receive from elsewhere.

    Each tensor counts once. With `kept`, only what the backward pass needs there; what a layer
    passes on as it came is needed by those behind it. What meets an output that is here comes here,
    wherever it is taken then; see `met`.
    """
    names = _arriving(graph, device, devices, kept=kept)
    return sum(layer.output_bytes for layer in graph.layers if layer.name in names)


def lingering(graph: ModelGraph, device: str, devices: Devices) -> int:
    """The largest tensor that a device receives and the backward pass does not need there."""
    brief = _arriving(graph, device, devices) - _arriving(graph, device, devices, kept=True)
    return max((each.output_bytes for each in graph.layers if each.name in brief), default=0)


def _arriving(
    graph: ModelGraph, device: str, devices: Devices, *, kept: bool = False
) -> frozenset[str]:
    here = {name for name, some in devices.items() if device in some}
    taken: set[str] = set()
    for layer in reversed(graph.layers):
        alone = len(layer.inputs) == 1 and not layer.kept_bytes
        passes_on = alone and layer.name in taken
        if layer.name in here and (not kept or layer.keeps_inputs or passes_on):
            taken.update(layer.arriving(here))
        if layer.name in here and not kept:
            taken.update(layer.met_outputs.others)
    return frozenset(taken - here)


def forward(graph: ModelGraph, device: str, devices: Devices) -> int:
    """What a micro-batch holds on its way forward through a device beyond all that it keeps there.

    What a layer does not keep is there while it is computed, as is what comes for one behind it
    whose gradient does not need it: what the layers behind keep is not there by then. What comes
    for itself may be gone before it has made all that it keeps.
    """
    here = [layer for layer in graph.layers if device in devices[layer.name]]
    names = [layer.name for layer in here]

    def brief(count: int) -> int:
        there = {
            each.name: (device,) if each.name in names[:count] else () for each in graph.layers
        }
        return received(graph, device, there) - received(graph, device, there, kept=True)

    whole, came, most = brief(len(here)), 0, 0
    behind = sum(layer.kept_bytes for layer in here)
    for place, layer in enumerate(here):
        behind -= layer.kept_bytes
        before = came
        if whole and not {*layer.inputs, *layer.met_outputs.others} <= {*names}:
            came = brief(place + 1)
        gone = layer.let_go_bytes if came > before else 0
        most = max(
            most, whole - before - gone - behind, whole - came + layer.forward_bytes - behind
        )
    return most


def forward_unkept(graph: ModelGraph, device: str, devices: Devices) -> int:
    """The same where nothing is kept but what comes: stages are computed again on the way back."""
    last = {name: place for place, each in enumerate(graph.layers) for name in each.inputs}
    most, there = 0, dict[str, int]()
    for place, layer in enumerate(graph.layers):
        if device not in devices[layer.name]:
            there = {}  # what goes on to others is waiting
            continue
        there = {name: size for name, size in there.items() if last.get(name, -1) >= place}
        most = max(most, sum(there.values()) + max(layer.output_bytes, layer.made_bytes))
        there[layer.name] = layer.output_bytes
    return most


def met(graph: ModelGraph, device: str, devices: Devices) -> int:
    """What comes to meet outputs on a device, and the backward pass needs, counted once each."""
    here = {name for name, some in devices.items() if device in some}
    comes = {
        name
        for layer in graph.layers
        if layer.name in here and layer.met_outputs.kept
        for name in layer.met_outputs.others
    }
    return sum(layer.output_bytes for layer in graph.layers if layer.name in comes - here)


def waiting(graph: ModelGraph, device: str, devices: Devices, *, kept: bool) -> int:
    """What a device makes for others, less what its layers keep.

    Each tensor counts once. Without `kept` they keep nothing of it. Of outputs that have met, what
    was made of them here waits, which no layer keeps.
    """
    alone = _lending(graph, device, devices) if kept else {}
    return sum(
        _unkept(layer, kept=kept) + alone.get(layer.name, 0)
        for layer in _leaving(graph, device, devices)
    )


def skipping(graph: ModelGraph, device: str, devices: Devices, *, kept: bool) -> int:
    """What of `waiting` is needed further on than by the next layer behind the device's last."""
    names = [layer.name for layer in graph.layers]
    here = [place for place, name in enumerate(names) if device in devices[name]]
    taken = {
        name
        for place, layer in enumerate(graph.layers)
        if here and not here[0] <= place <= here[-1] + 1
        for name in (*layer.inputs, *layer.met_outputs.others)
    }
    alone = _lending(graph, device, devices) if kept else {}
    return sum(
        _unkept(layer, kept=kept) + alone.get(layer.name, 0)
        for layer in _leaving(graph, device, devices)
        if layer.name in taken
    )


def _unkept(layer: GraphLayer, *, kept: bool) -> int:
    return max(0, layer.met_outputs.bytes, layer.output_bytes - layer.output_kept_bytes * kept)


def lent(graph: ModelGraph, device: str, devices: Devices) -> int:
    """What is kept by layers on a device, and only layers elsewhere need, which have copies."""
    return sum(_lending(graph, device, devices).values())


def _lending(graph: ModelGraph, device: str, devices: Devices) -> dict[str, int]:
    taken = {
        name for layer in graph.layers if device in devices[layer.name] for name in layer.inputs
    }
    return {
        layer.name: layer.lent_bytes
        for layer in graph.layers
        if tuple(devices[layer.name]) == (device,) and layer.name not in taken
    }


def coming(graph: ModelGraph, layer: GraphLayer, device: str, devices: Devices) -> int:
    """The gradient that comes for an output from elsewhere; always if an earlier layer takes it."""
    before = True
    for each in graph.layers:
        if layer.name in each.inputs and (before or device not in devices[each.name]):
            return layer.output_bytes
        before = before and each.name != layer.name
    return 0


def is_taken_here(graph: ModelGraph, layer: GraphLayer, device: str, devices: Devices) -> bool:
    """Whether a later layer on a device takes an output.

    What comes for it from elsewhere is added to what that gives back: it came before, and who
    received it is through.
    """
    places = [each.name for each in graph.layers]
    behind = graph.layers[places.index(layer.name) + 1 :]
    return any(layer.name in each.inputs and device in devices[each.name] for each in behind)


def added_up(graph: ModelGraph, layer: GraphLayer, device: str, devices: Devices) -> int:
    """The gradients for an output that several other devices send, besides the first of them.

    All are there when they are added up. Where layers here take it as well, that is known of these.
    """
    takers = {on for each in graph.layers if layer.name in each.inputs for on in devices[each.name]}
    return 0 if device in takers else layer.output_bytes * max(0, len(takers) - 1)


def doubled(
    graph: ModelGraph, layer: GraphLayer, device: str, devices: Devices, pairs: Pairs
) -> int:
    """What of the gradient that is coming for an output is here twice; `pairs` are its `doubles`.

    They are given as they are the same for every layer: a deep model has a thousand of these.
    """
    layers, here = graph.layers, (device,)
    return max(
        (
            size
            for size, earlier, later, taker in pairs
            if layers[later].name == layer.name
            and tuple(devices[layers[earlier].name]) == tuple(devices[layer.name]) == here
            and device not in devices[layers[taker].name]
        ),
        default=0,
    )


def doubles(graph: ModelGraph) -> list[tuple[int, int, int, int]]:
    """The gradients that a layer gives back for two outputs at once, such as one that adds them.

    Of each the size, the earlier and the later output, and the taker. Where that is on another
    card, it comes for each of both: one waits for the earlier layer, and the other one is there.
    """
    places = {layer.name: place for place, layer in enumerate(graph.layers)}
    found = []
    for taker, layer in enumerate(graph.layers):
        taken = sorted({places[name] for name in layer.inputs if places[name] < taker})
        if layer.gives_back < len(taken):
            found += [(graph.layers[b].output_bytes, a, b, taker) for a, b in pairwise(taken)]
    return found


def returned(graph: ModelGraph, device: str, devices: Devices) -> int:
    """The gradients that a device makes for what it receives: one for both terms of a sum."""
    takers: dict[str, list[str]] = {}
    for layer in graph.layers:
        for name in layer.inputs if device in devices[layer.name] else ():
            takers.setdefault(name, []).append(layer.name)
    names, once = [each.name for each in graph.layers], 0
    for size, *terms, taker in sums(graph):
        some = [names[each] for each in terms]
        came = all(device not in devices[name] for name in some)
        if came and all(takers.get(name) == [names[taker]] for name in some):
            once += size
    return received(graph, device, devices) - once


def sums(graph: ModelGraph) -> list[tuple[int, int, int, int]]:
    """The outputs for which a layer gives back one gradient, as it came: the terms of sums.

    Of each term and the next one the size, both, and the taker.
    """
    places = {layer.name: place for place, layer in enumerate(graph.layers)}
    sizes = [layer.output_bytes for layer in graph.layers]
    return [
        (sizes[one], one, other, taker)
        for taker, layer in enumerate(graph.layers)
        for one, other in pairwise(sorted({places[name] for name in layer.inputs}))
        if not (layer.gives_back or layer.meets)
        if sizes[one] == sizes[other] and other < taker
    ]


def joined(graph: ModelGraph, device: str, devices: Devices) -> int:
    """What a device makes for others of outputs that meet there."""
    return sum(layer.met_outputs.bytes for layer in _leaving(graph, device, devices))


def _leaving(graph: ModelGraph, device: str, devices: Devices) -> list[GraphLayer]:
    """The layers on a device whose outputs are needed elsewhere."""
    elsewhere = {
        name
        for layer in graph.layers
        if set(devices[layer.name]) - {device}
        for name in (*layer.inputs, *layer.met_outputs.others)
    }
    return [
        layer for layer in graph.layers if layer.name in elsewhere and device in devices[layer.name]
    ]
