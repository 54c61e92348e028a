"""What layers hold on their way forward beyond what they keep for the backward pass."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpu_studio.placement.liveness import (
    NOTHING,
    Operation,
    Size,
    StepGraph,
    in_one_queue,
    roots_of,
)


class HeldForward(NamedTuple):
    """What a layer holds on its way forward, in bytes per sample.

    `beyond` is the most of it beyond what the layer keeps. What it takes, if that is one tensor,
    may be gone before all is made that it keeps: so much of both is `let_go`. `made` is the most
    of it if nothing is kept, less what the layer takes.
    """

    beyond: int = 0
    let_go: int = 0
    made: int = 0


def held_forward(
    operations: Sequence[Operation],
    layers: Sequence[str],
    backward: Sequence[bool],
    kept: Collection[int],
) -> dict[str, HeldForward]:
    """The most that each layer holds on its way forward.

    What it takes counts until the layer has used it, unless that is `kept` by others. `layers` are
    those of the operations.
    """
    roots = roots_of(operations)
    used: dict[int, list[int]] = {}
    for place, each in enumerate(operations):
        for x in each.takes:
            used.setdefault(roots[x][0], []).append(place)
    made = {tensor: layers[place] for tensor, place in roots.values()}
    places: dict[str, list[int]] = {}
    for place, layer in enumerate(layers):
        if layer and not backward[place]:
            places.setdefault(layer, []).append(place)
    found = {}
    for layer, some in places.items():
        here, first = {*some}, some[0]
        own = [operations[place] for place in some]
        known = {roots[x][0] for each in own for x in (*each.takes, *dict(each.makes))}
        later = {
            tensor: {layers[n] for n in used.get(tensor, ()) if n > first and n not in here}
            for tensor in known
        }
        lasting = {tensor for tensor, some in later.items() if some}
        copied = {tensor for tensor in lasting if later[tensor] - ({made[tensor]} - {layer})}
        passed = {
            tensor
            for tensor in lasting
            if any(n > first and n not in here and not backward[n] for n in used[tensor])
        }
        found[layer] = _held(own, operations, roots, kept, lasting, copied, passed)
    return found


def _held(
    own: Sequence[Operation],
    every: Sequence[Operation],
    roots: Mapping[int, tuple[int, int]],
    kept: Collection[int],
    lasting: Collection[int],
    copied: Collection[int],
    passed: Collection[int],
) -> HeldForward:
    """The same of the operations of one layer, of whose tensors some are `lasting`: used later.

    If it has copies of what it takes, `copied` ones are; on the way forward those `passed` on.
    """
    sizes = {tensor: size for each in own for tensor, size in each.makes}
    taken = {x: roots[x] for each in own for x in each.takes if x not in sizes}
    arriving = {
        tensor: dict(every[place].makes)[tensor]
        for tensor, place in taken.values()
        if tensor not in sizes
    }
    shared = [
        Operation((tensor,), ((x, NOTHING),), shares=True)
        for x, (tensor, _) in taken.items()
        if x != tensor
    ]
    here, known = [replace(each, after=()) for each in own], {*arriving, *sizes}
    keeps = sum(size.per_sample for tensor, size in sizes.items() if tensor in kept)
    others = {x: NOTHING if x in kept else size for x, size in arriving.items()}
    beyond = max(0, _most(others, [*shared, *here], known & {*lasting}) - keeps)
    taking = [size.per_sample for size in arriving.values() if size.per_sample]
    made = max(0, _most(arriving, [*shared, *here], known & {*passed}) - sum(taking))
    if len(taking) != 1:
        return HeldForward(beyond, made=made)
    # Nothing is written over what comes from another card (`SameWorkerRecvDone`).
    over = [
        each.overwrites and not any(roots[x][0] in arriving for x in each.takes) for each in own
    ]
    run = [replace(each, overwrites=may) for each, may in zip(here, over, strict=True)]
    apart = _most(arriving, [*shared, *run], known & {*copied})
    return HeldForward(beyond, max(0, keeps + taking[0] - apart), made)


def _most(arrived: Mapping[int, Size], run: Sequence[Operation], results: Collection[int]) -> int:
    """The most that the operations and what has arrived for them hold, in bytes per sample."""
    come = [Operation(makes=((tensor, size),)) for tensor, size in arrived.items()]
    every = [*come, *run]
    moments = StepGraph(every, results=[*results]).history(in_one_queue(every)).moments
    return max(moment.per_sample for moment in moments)
