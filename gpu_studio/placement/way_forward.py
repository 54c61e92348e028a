"""What layers hold on their way forward beyond what they keep for the backward pass."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from gpu_studio.placement.layer_holds import roots_of
from gpu_studio.placement.liveness import NOTHING, Operation, StepGraph, in_one_queue


def held_forward(
    operations: Sequence[Operation],
    layers: Sequence[str],
    backward: Sequence[bool],
    kept: Collection[int],
) -> dict[str, int]:
    """The most that each layer holds on its way forward beyond what it keeps, in bytes per sample.

    What it takes counts until the layer has used it, unless that is `kept` by others. `layers` are
    those of the operations.
    """
    roots = roots_of(operations)
    used = {roots[x][0]: place for place, each in enumerate(operations) for x in each.takes}
    places: dict[str, list[int]] = {}
    for place, layer in enumerate(layers):
        if layer and not backward[place]:
            places.setdefault(layer, []).append(place)
    found = {}
    for layer, some in places.items():
        own = [operations[place] for place in some]
        lasting = {tensor for tensor, place in used.items() if place > some[-1]}
        found[layer] = _beyond_kept(own, operations, roots, lasting, kept)
    return found


def _beyond_kept(
    own: Sequence[Operation],
    every: Sequence[Operation],
    roots: Mapping[int, tuple[int, int]],
    lasting: Collection[int],
    kept: Collection[int],
) -> int:
    """The same of the operations of one layer. Tensors that are `lasting` are used later, too."""
    sizes = {tensor: size for each in own for tensor, size in each.makes}
    taken = {x: roots[x] for each in own for x in each.takes if x not in sizes}
    arrived = {
        tensor: NOTHING if tensor in kept else dict(every[place].makes)[tensor]
        for tensor, place in taken.values()
        if tensor not in sizes
    }
    operations = [
        *(Operation(makes=((tensor, size),)) for tensor, size in arrived.items()),
        *(
            Operation((tensor,), ((x, NOTHING),), shares=True)
            for x, (tensor, _) in taken.items()
            if x != tensor
        ),
        *(replace(each, after=()) for each in own),
    ]
    known = {**arrived, **sizes}
    step = StepGraph(operations, results=[x for x in known if x in lasting])
    moments = step.history(in_one_queue(operations)).moments
    keeps = sum(size.per_sample for tensor, size in sizes.items() if tensor in kept)
    return max(0, max(moment.per_sample for moment in moments) - keeps)
