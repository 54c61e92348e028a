"""What a micro-batch holds on its way back through blocks of neighbouring layers on a card."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gpu_studio.placement.block_amounts import (
    Amount,
    AtLeast,
    AtMost,
    BlockSet,
    BlockTable,
    Mask,
    Places,
    Sums,
    View,
    filled,
    highest,
    lowest,
)
from gpu_studio.placement.block_apart import BlocksApart, HeldApart, blocks_apart
from gpu_studio.placement.blocks import AT_ONCE, before, coming, groups, outliving
from gpu_studio.placement.stage_memory import WayBack, behind
from gpu_studio.placement.work import Array, Work


def way_back(work: Work) -> WayBack:
    """The way back through all layers, where no gradient comes from elsewhere."""
    layers = len(work.kept_bytes)
    around = work.around_bytes if len(work.around_bytes) else work.kept_bytes + work.passing_bytes
    return WayBack(
        work.kept_bytes,
        around,
        work.kernels if len(work.kernels) else np.zeros((layers, 0, 4)),
        work.gradient_bytes,
        np.zeros(layers),
        work.outlived_bytes if len(work.outlived_bytes) else np.zeros(layers),
        np.zeros(layers),
    )


@dataclass(frozen=True)
class BlocksBack:
    """The ways back through blocks that so much is `returning` from: what does not hang on samples.

    What the first layer takes is a copy, which `spares` memory where a layer keeps what it takes.
    """

    work: Work
    returning: Amount | None
    spares: bool

    @cached_property
    def way(self) -> WayBack:
        """The way back through all layers."""
        return way_back(self.work)

    @cached_property
    def late(self) -> BlockTable:
        """What of the gradients from elsewhere is held for each layer before those they are for.

        Of blocks with an end.
        """
        layers = len(self.work.inputs)
        values = np.zeros((layers + 1, layers + 1))
        comes = coming(self.work)
        for rows in groups(layers):
            values[rows, :layers] = behind(comes[rows])
        return BlockTable(values)

    @cached_property
    def comes(self) -> BlockTable:
        """Whether one comes that may outlive its use, for each layer of blocks with an end.

        Of those no layer takes its output as well. It is 1 or 0.
        """
        return BlockTable(np.pad(outliving(self.work), ((0, 0), (0, 1))))

    @cached_property
    def most_late(self) -> Array:
        """For each tile at least what of them is held for a layer, also where one is doubled."""
        values = self.late.values.copy()
        for size, _, later, taker in self.work.doubles:
            values[later + 1 : taker + 1, later] += size
        return BlockTable(values).high

    @cached_property
    def came(self) -> BlockTable | None:
        """The largest gradient that comes from elsewhere."""
        comes = coming(self.work)
        most = np.maximum.accumulate(comes[:, ::-1], axis=1)[:, ::-1]
        return filled(np.pad(most, ((0, 0), (0, 1))))

    @cached_property
    def apart(self) -> BlocksApart | None:
        """How much less is held for layers in blocks without others; None if it is never less."""
        return blocks_apart(self.work, self.spared)

    @cached_property
    def spared(self) -> Array | None:
        """What a layer holds less if it is the first."""
        return self.work.spared_bytes if self.spares and self.work.spared_bytes.any() else None

    @cached_property
    def gradients(self) -> Sums:
        """The gradients of a block's weights."""
        return Sums(before(self.work.gradient_bytes))

    @cached_property
    def kept(self) -> Array:
        """What the layers before each keep."""
        return before(self.work.kept_bytes)


@dataclass(frozen=True)
class GoingBack:
    """What a micro-batch of `part` samples that goes back holds in a block, at its fullest moment.

    An `Amount`. What is held while each layer is computed counts from the model's first layer on
    at first; so of all blocks with one end it is computed in one go.
    """

    blocks: BlocksBack
    part: int

    def at(self, blocks: BlockSet) -> Array:
        """That of some blocks."""
        self._know(np.unique(blocks.ends))
        back, part = self.blocks, self.part
        fullest = self._fullest.take(blocks.places)
        gradients = back.gradients.prefix[blocks.ends]
        fullest = fullest - part * back.kept[blocks.begins] + gradients
        # The gradient of what came in is made here, and sent back.
        last = back.gradients.at(blocks)
        if back.returning is not None:
            last = last + part * back.returning.at(blocks)
        found: Array = np.maximum(fullest, last)
        return found

    @cached_property
    def low(self) -> Array:
        """At most the least in each tile: of layers that all its blocks have."""
        moments = self._of_tiles(self.blocks.late.low, self.blocks.comes.low, *self._least)
        inside = np.tri(len(moments), k=-1, dtype=bool)
        moments = np.where(inside, moments, -np.inf)
        moments[:, :-1] = moments[:, 1:]
        moments[:, -1] = -np.inf
        return self._bound(moments, AtLeast())

    @cached_property
    def high(self) -> Array:
        """At least the most in each tile: of layers that any of its blocks has."""
        most = self._alone, self._alone + self._outlived
        moments = self._of_tiles(self.blocks.most_late, self.blocks.comes.high, *most)
        inside = np.tri(len(moments), dtype=bool)
        return self._bound(np.where(inside, moments, -np.inf), AtMost())

    def _of_tiles(self, late: Array, comes: Array, alone: Array, outlived: Array) -> Array:
        """What is held at most while any layer of a tile is computed, if so much is late.

        For all of them a gradient `comes` from elsewhere, which may have `outlived` its use, or for
        none, as where each is `alone`.
        """
        behind = self._behind
        found = np.where(comes, highest(outlived - behind), highest(alone - behind))
        return np.asarray(found + self.part * late, np.float64)

    def _bound(self, moments: Array, seen: View) -> Array:
        back, part = self.blocks, self.part
        lower = isinstance(seen, AtLeast)
        kept = highest(back.kept) if lower else lowest(back.kept)
        gradients = (lowest if lower else highest)(back.gradients.prefix)
        fullest = np.maximum.accumulate(moments[:, ::-1], axis=1)[:, ::-1]
        fullest = fullest - part * kept
        last = seen.of(back.gradients) + part * seen.of(back.returning)
        found: Array = np.maximum(fullest + gradients[:, None], last)
        return found

    @cached_property
    def _alone(self) -> Array:
        """What is held while each layer is computed, if nothing comes from elsewhere."""
        return np.append(self.blocks.way.alone(self.part), -np.inf)

    @cached_property
    def _outlived(self) -> Array:
        """How much more that is if what comes back to the layer comes from elsewhere."""
        late = self._way_late.alone(self.part, late=True)
        return np.append(late - self._alone[:-1], 0.0)

    @cached_property
    def _way_late(self) -> WayBack:
        """The way back where what comes is late, and all of it is there that comes for an output.

        Threads may fall behind if the batch goes in one piece.
        """
        way, work = self.blocks.way, self.blocks.work
        around, outlived = way.around, way.outlived
        if len(work.added_bytes):
            around = around + np.maximum(0.0, work.added_bytes - outlived)
        if self.part >= work.batch and len(work.behind_bytes):
            outlived = outlived + work.behind_bytes
        return replace(way, around=around, outlived=outlived)

    @cached_property
    def _apart(self) -> HeldApart | None:
        apart = self.blocks.apart
        backs = self.blocks.way, self._way_late
        return None if apart is None else apart.held(backs, self.part, self.blocks.kept)

    @cached_property
    def _least(self) -> tuple[Array, Array]:
        """At most what is held alone, and if something comes, in any block."""
        alone, late = self._alone.copy(), self._alone + self._outlived
        if self._apart is not None:
            self._apart.lower(alone, late)
        return alone, late

    @cached_property
    def _behind(self) -> Array:
        """The gradients of the layers before each, which are not there."""
        gradients = self.blocks.work.gradient_bytes
        return np.append(np.cumsum(gradients) - gradients, 0.0)

    @cached_property
    def _known(self) -> Mask:
        """The ends of which the fullest moments are known."""
        return np.zeros(len(self.blocks.kept), np.bool_)

    @cached_property
    def _fullest(self) -> Array:
        """The table of the fullest moments."""
        return np.zeros((len(self.blocks.kept),) * 2)

    def _know(self, ends: Places) -> None:
        new = ends[~self._known[ends]]
        for place in range(0, len(new), AT_ONCE):
            some = new[place : place + AT_ONCE]
            self._fullest[some, : some[-1] + 1] = self._fullest_of(some)
            self._known[some] = True

    def _fullest_of(self, ends: Places) -> Array:
        """What is held in the fullest moment of blocks that end here, wherever they begin."""
        part, first, wide = self.part, int(ends[0]), int(ends[-1]) + 1
        moments = part * self.blocks.late.values[ends, :wide]
        moments += self.blocks.comes.values[ends, :wide] * self._outlived[:wide]
        moments += self._alone[:wide]
        moments -= self._behind[:wide]
        # None of a layer that is not in the block; and of each the fullest of it and those behind.
        moments[:, first:][np.arange(first, wide) >= ends[:, None]] = -np.inf
        behind = np.full_like(moments, -np.inf)
        behind[:, :-1] = moments[:, 1:]
        beginning = moments.copy()
        if self.blocks.spared is not None:  # what the first layer takes is a copy
            beginning[:, :-1] -= part * self.blocks.spared[: wide - 1]
        held = None if self._apart is None else self._held_apart(self._apart, ends)
        if self._apart is not None and held is not None:
            self._apart.groups.put(held, beginning, behind)
        self._double(moments, behind, held, ends)
        fullest = np.maximum.accumulate(behind[:, ::-1], axis=1)[:, ::-1]
        return np.maximum(beginning, fullest)

    def _held_apart(self, apart: HeldApart, ends: Places) -> Array:
        """What is held for the layers of each group in blocks with these ends."""
        layers = apart.groups.layers
        late = self.blocks.late.values[np.ix_(ends, layers)]
        comes = self.blocks.comes.values[np.ix_(ends, layers)]
        found = apart.at(ends, comes) + self.part * late - self._behind[layers]
        return np.where(layers < ends[:, None], found, -np.inf)

    def _double(self, moments: Array, behind: Array, apart: Array | None, ends: Places) -> None:
        """Count layers for which a gradient comes twice, at the other one of the two.

        Only blocks that begin with that or before have both.
        """
        for size, earlier, later, taker in self.blocks.work.doubles:
            rows = (ends > later) & (ends <= taker)
            if not rows.any():
                continue
            some = [(earlier, moments[:, later])]
            if self._apart is not None and apart is not None and later in self.blocks.work.apart:
                some = self._apart.groups.of(later, apart)
            for column, held in some:
                to, doubled = min(column, earlier), held[rows] + self.part * size
                behind[rows, to] = np.maximum(behind[rows, to], doubled)
