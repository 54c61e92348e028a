"""How much less blocks hold while a layer is computed, by where they begin and end (see `apart`).

What lies beside a layer may come with any of some others. Of these only the nearest before it and
behind it count: a block that has another of them has that one, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpu_studio.placement.apart import Apart
from gpu_studio.placement.stage_memory import WayBack
from gpu_studio.placement.work import Array, Work

Places = NDArray[np.int64]


@dataclass(frozen=True)
class BlocksApart:
    """Groups of blocks in which as much less is held for a layer if they end alike.

    Of a group, the `layers` (groups,), and `columns`, the last begin: no block begins behind it.
    Where it is `first` they begin with the layer. What is held in a block hangs on how many of
    the `ends` (groups, ends) it goes beyond; so much `less` is held around the layer, and beside
    each of its kernels: (groups, ends + 1, 1 + kernels). They are in order of their columns.
    """

    layers: Places
    columns: Places
    first: NDArray[np.bool_]
    ends: Places
    less: Array

    def held(self, backs: tuple[WayBack, WayBack], part: int, kept: Array) -> HeldApart:
        """What is held for each in micro-batches of `part` samples.

        `backs` are those back through all layers where nothing comes, and where something comes
        late; `kept` is what the layers before each keep.
        """
        before = part * kept[self.layers][:, None]
        alone, late = (self._of(way) for way in backs)
        return HeldApart(self, before + alone.beside(part), before + late.beside(part, late=True))

    def _of(self, way: WayBack) -> WayBack:
        kernels = np.repeat(way.kernels[self.layers][:, None], self.less.shape[1], axis=1)
        count = self.less.shape[2] - 1
        kernels[:, :, :count, 0] -= self.less[:, :, 1:]
        return replace(
            way,
            around=way.around[self.layers][:, None] - self.less[:, :, 0],
            kernels=kernels,
            outlived=way.outlived[self.layers][:, None],
        )

    def put(self, held: Array, beginning: Array, behind: Array) -> None:
        """Put what is held for the layer of each into tables of blocks, in place of what is there.

        Of those that begin with it, and of those that begin up to a column.
        """
        known = self.layers < beginning.shape[1] - 1
        first, later = known & self.first, known & ~self.first
        beginning[:, self.layers[first]] = held[:, first]
        behind[:, self.layers[later] - 1] = -np.inf
        columns, begins = np.unique(self.columns[later], return_index=True)
        if len(columns):
            most = np.maximum.reduceat(held[:, later], begins, axis=1)
            behind[:, columns] = np.maximum(behind[:, columns], most)

    def of(self, layer: int, held: Array) -> list[tuple[int, Array]]:
        """What is held for a layer in blocks that begin before it, each with the last column."""
        some = np.flatnonzero((self.layers == layer) & ~self.first)
        return [(int(self.columns[each]), held[:, each]) for each in some]


@dataclass(frozen=True)
class HeldApart:
    """What is held for the layers of groups if nothing comes from elsewhere, or late."""

    groups: BlocksApart
    alone: Array
    late: Array

    def at(self, ends: Places, comes: Array) -> Array:
        """The same in blocks with these ends (places,), if it `comes`: (places, groups)."""
        beyond = (ends[:, None, None] > self.groups.ends).sum(axis=-1)
        every = np.arange(len(self.groups.layers))
        found = np.where(comes > 0, self.late[every, beyond], self.alone[every, beyond])
        return np.asarray(found, np.float64)

    def lower(self, alone: Array, late: Array) -> None:
        """Bring what is held for each layer down to the least of its groups."""
        for found, held in ((alone, self.alone), (late, self.late)):
            np.minimum.at(found, self.groups.layers, held.min(axis=1))


@dataclass(frozen=True)
class _Group:
    layer: int
    column: int
    ends: tuple[int, ...]
    less: Array


def blocks_apart(work: Work, spared: Array | None) -> BlocksApart | None:
    """The groups of all layers of which anything is known; None if there is none.

    Of a layer that is the first in a block at least so much is `spared`.
    """
    groups = [each for layer in work.apart for each in _groups(work, layer, spared)]
    if not groups:
        return None
    groups.sort(key=lambda each: each.column)
    most, kernels = (
        max(len(each.ends) for each in groups),
        max(len(each.less[0]) for each in groups),
    )
    ends = np.full((len(groups), most), len(work.names) + 1)
    less = np.zeros((len(groups), most + 1, kernels))
    for place, each in enumerate(groups):
        ends[place, : len(each.ends)] = each.ends
        less[place, : len(each.less), : len(each.less[0])] = each.less
    layers, columns = (np.array([getattr(x, of) for x in groups]) for of in ("layer", "column"))
    return BlocksApart(layers, columns, layers == columns, ends, less)


def _groups(work: Work, layer: int, spared: Array | None) -> list[_Group]:
    places = {name: place for place, name in enumerate(work.names)}
    every = work.apart[layer]
    near = {
        lying: _nearest([places[each] for each in lying], layer)
        for some in every
        for moment in some
        for lying, _ in moment.others
    }
    lows = sorted({low for low, _ in near.values() if low >= 0}, reverse=True)
    highs = sorted({high for _, high in near.values() if high < len(places)})
    columns = [layer, *([layer - 1] if layer and layer - 1 not in lows else []), *lows]
    found = []
    for column in columns:
        least = 0.0 if spared is None or column < layer else float(spared[layer])
        rows = [
            [max(least, _less(some, near, column, end)) for some in every]
            for end in (layer, *highs)
        ]
        found.append(_Group(layer, column, tuple(highs), np.array(rows, np.float64)))
    return found


def _nearest(places: Sequence[int], layer: int) -> tuple[int, int]:
    """The nearest of these places before a layer, or -1, and behind it, or one that is not."""
    before = max((each for each in places if each < layer), default=-1)
    return before, min((each for each in places if each > layer), default=1 << 40)


def _less(
    every: Sequence[Apart], near: dict[tuple[str, ...], tuple[int, int]], column: int, end: int
) -> int:
    """How much less is held in blocks that begin with this column, or before, and end behind."""
    found = [
        each.less
        - sum(
            size for lying, size in each.others if near[lying][0] >= column or near[lying][1] <= end
        )
        for each in every
    ]
    return max(0, min(found, default=0))
