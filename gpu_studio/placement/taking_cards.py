"""On how many cards the layers are that take an output: a search knows it when all are placed.

What they give back for it is there at once when it is added up. So it is looked at afterwards
whether what was found has room for that; where it has not, each taker counts as on its own card.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from gpu_studio.placement.block_amounts import BlockSet
from gpu_studio.placement.block_fit import BlockFit
from gpu_studio.placement.block_memory import BlockMemory
from gpu_studio.placement.search import FoundPlacement, Lack, Objective, placements
from gpu_studio.placement.stage_memory import at_once
from gpu_studio.placement.work import Array, Device, Work


def placements_by_cards(
    work: Work,
    devices: Sequence[Device],
    objective: Objective,
    micro_batches: Iterable[int],
    *,
    overlap: bool = True,
    recompute: bool = False,
) -> list[FoundPlacement] | tuple[Lack, ...]:
    """The same as `placements`, with room for what several cards send for one output."""

    def search(work: Work) -> list[FoundPlacement] | tuple[Lack, ...]:
        return placements(work, devices, objective, counts, overlap=overlap, recompute=recompute)

    counts = tuple(micro_batches)
    found = search(work)
    if isinstance(found, tuple):
        return found
    some = [each for each in found if _fits(work, devices, each, recompute=recompute)]
    return some or search(replace(work, added_bytes=_most_added(work, len(devices))))


def _takers(work: Work) -> list[set[int]]:
    """The layers that take the output of each."""
    found: list[set[int]] = [set() for _ in work.names]
    for inputs in (work.inputs, work.later):
        for taker, producers in enumerate(inputs):
            for producer in producers:
                found[producer].add(taker)
    return found


def _most_added(work: Work, devices: int) -> Array:
    """What comes for each output besides the first gradient, if each taker is on its own card."""
    counts = np.array([min(len(each), devices - 1) for each in _takers(work)], np.float64)
    return np.asarray(work.output_bytes * np.maximum(0.0, counts - 1), np.float64)


def _added(work: Work, on: Sequence[int]) -> Array:
    """The same if the layers are on these devices."""
    found = np.zeros(len(work.names))
    for layer, takers in enumerate(_takers(work)):
        there = {on[each] for each in takers}
        if there and on[layer] not in there:
            found[layer] = work.output_bytes[layer] * (len(there) - 1)
    return found


def _fits(work: Work, devices: Sequence[Device], found: FoundPlacement, *, recompute: bool) -> bool:
    """Whether all devices hold their layers, as far as they have limits."""
    added = _added(work, found.devices)
    if not added.any() or all(each.limit is None for each in devices):
        return True
    memory = BlockMemory(replace(work, added_bytes=added), at_once(len(devices)), recompute)
    turns = BlockFit(devices, memory, found.micro_batches).turns
    ends = np.searchsorted(found.devices, np.arange(len(devices)), side="right").tolist()
    for place, (begin, end) in enumerate(pairwise((0, *ends))):
        block = BlockSet(np.array([end]), np.array([begin]), len(work.names))
        limit = devices[place].limit
        if begin < end and limit is not None:
            held = memory.held(found.micro_batches, block, turns=turns[place])
            if held.item() > limit:
                return False
    return True
