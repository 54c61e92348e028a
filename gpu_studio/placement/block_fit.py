"""Which blocks fit on which device of a row, and how full the fullest device has to be.

Bounds of tiles (see `block_amounts`) tell of most blocks whether they fit. Of the others only those
are looked at that can be stages: the devices before and behind have to hold the other layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gpu_studio.placement.block_amounts import TILE, BlockSet, Mask, Places, lowest
from gpu_studio.placement.block_memory import BlockMemory
from gpu_studio.placement.blocks import groups
from gpu_studio.placement.stage_memory import turns_at_once
from gpu_studio.placement.stages import Frame, SentBytes, frame
from gpu_studio.placement.work import Array, Device

ROUNDED = 1e-9
"""By what share of it a bound may be wrong, as numbers are rounded."""


@dataclass(frozen=True)
class BlockFit:
    """The memory limits of the devices, and the memory of blocks on them."""

    devices: Sequence[Device]
    block_memory: BlockMemory
    micro_batches: int
    _bounds: dict[int, tuple[Array, Array]] = field(default_factory=dict)

    @cached_property
    def turns(self) -> list[int]:
        """How many micro-batches each card holds at once if all that follow it are used.

        0 for a CPU.
        """
        turns = turns_at_once([[device.name] for device in self.devices])
        return [min(self.micro_batches, turns.get(device.name, 0)) for device in self.devices]

    @property
    def layers(self) -> int:
        """How many layers there are."""
        return len(self.block_memory.work.names)

    @property
    def tiles(self) -> int:
        """How many tiles have the same ends, or begins."""
        return self.layers // TILE + 1

    def allowed(self, sent: Sequence[SentBytes], limits: Sequence[float | None]) -> list[SentBytes]:
        """For each device the bytes sent to each block, and the blocks that exceed its limit.

        Of those that cannot be stages not all are told.
        """
        zones = self._zones(limits)
        kinds = [
            None if limit is None else (id(table), turns, limit)
            for table, turns, limit in zip(sent, self.turns, limits, strict=True)
        ]
        made: dict[tuple[int, int, float], SentBytes] = {}
        for kind, table in zip(kinds, sent, strict=True):
            if kind and kind not in made:
                some = [zone for zone, other in zip(zones, kinds, strict=True) if other == kind]
                made[kind] = self._limited(table, some, kind[1], kind[2])
        return [made[kind] if kind else table for kind, table in zip(kinds, sent, strict=True)]

    def _limited(
        self, sent: SentBytes, zones: Sequence[_Zone], turns: int, limit: float
    ) -> SentBytes:
        """The bytes sent, and the blocks of any of these zones that exceed a limit."""
        between = np.logical_or.reduce([zone.between for zone in zones])
        may_fit, (_, high) = self._may_fit(turns, limit), self._bounds_of_tiles(turns)
        unsure = between & may_fit & ~_off_diagonal(high < limit * (1 - ROUNDED))
        barred = np.zeros((self.tiles, TILE, self.tiles, TILE), np.bool_)
        of_tiles = barred.swapaxes(1, 2)
        of_tiles[between & ~may_fit] = True
        of_tiles[unsure] = self._held(BlockSet.of_tiles(unsure, self.layers), turns) > limit
        whole = barred.reshape(self.tiles * TILE, -1)[: self.layers + 1, : self.layers + 1]
        return SentBytes(sent.table, zones[0].first, whole)

    def least_fullest(self, wholes: Sequence[float | None]) -> float:
        """The smallest possible fill of the fullest device, as a share of its whole.

        Unlimited devices are never full.
        """
        bounds = [self._share_bounds(device, whole) for device, whole in enumerate(wholes)]
        least = _least_of_tiles([low for low, _ in bounds]) * (1 - ROUNDED)
        known = _enough_for_tiles([high for _, high in bounds]) * (1 + ROUNDED)
        zones = self._zones([None if whole is None else known * whole for whole in wholes])
        reached = np.append(0.0, np.full(self.layers, np.inf))
        for device, (zone, whole) in enumerate(zip(zones, wholes, strict=True)):
            tiles = zone.between & zone.may_fit
            less = tiles & _off_diagonal(bounds[device][1] < least)
            # Those that certainly fill it less do not count, however little they do.
            found = np.where(less, np.maximum(lowest(reached), least), np.inf).min(axis=1)
            found = np.repeat(found[:, None], TILE, axis=1)
            blocks = BlockSet.of_tiles(tiles & ~less, self.layers)
            shares = _share(self._held(blocks, self.turns[device]), whole)
            best = np.maximum(reached[blocks.begins], shares).min(axis=2)
            np.minimum.at(found, np.nonzero(tiles & ~less)[0], best)
            reached = found.reshape(-1)[: self.layers + 1]
        return float(reached[-1])

    def lacking(self) -> list[tuple[int, float]]:
        """The devices that lack memory, and how many bytes, if as little as possible is lacking."""
        reached = [np.append(0.0, np.full(self.layers, np.inf))]
        reached += [np.full(self.layers + 1, np.inf) for _ in self.devices]
        for rows in groups(self.layers):
            ends = range(rows.start, rows.stop)
            held = {turns: self._held_by(ends, turns) for turns in set(self.turns)}
            for device, turns in enumerate(self.turns):
                lack = self._over(device, held[turns])
                known = reached[device][: rows.stop] + lack
                reached[device + 1][rows] = known.min(axis=1)
        end, found = self.layers, []
        for device in reversed(range(len(self.devices))):
            over = self._over(device, self._held_by(range(end, end + 1), self.turns[device])[0])
            begin = int((reached[device][: end + 1] + over).argmin())
            if over[begin] > 0:
                found.append((device, float(over[begin])))
            end = begin
        return found[::-1]

    def _over(self, device: int, held: Array) -> Array:
        """The bytes that blocks lack on a device."""
        limit = self.devices[device].limit
        if limit is None:
            return np.where(np.isfinite(held), 0.0, np.inf)
        found: Array = np.maximum(held - limit, 0.0)
        return found

    def _held_by(self, ends: range, turns: int) -> Array:
        """The memory of all blocks that end in `ends`."""
        return self._held(BlockSet.of_rows(ends, self.layers), turns)

    def _held(self, blocks: BlockSet, turns: int) -> Array:
        """The memory of blocks; infinite where there is no block."""
        held = self.block_memory.held(self.micro_batches, blocks, turns=turns)
        held[blocks.nowhere] = np.inf
        return held

    def _zones(self, limits: Sequence[float | None]) -> list[_Zone]:
        """Where the stages of each device can be."""
        may = [self._may_fit(turns, each) for turns, each in zip(self.turns, limits, strict=True)]
        firsts = [self._first(tiles) for tiles in may]
        there = frame(firsts)
        return [
            _Zone(self._between(there, device), tiles, first)
            for device, (tiles, first) in enumerate(zip(may, firsts, strict=True))
        ]

    def _between(self, there: Frame | None, device: int) -> Mask:
        """The tiles between the layers where a device's stages can begin and end."""
        found = np.zeros((self.tiles, self.tiles), np.bool_)
        if there is not None:
            begins, ends = (
                slice(there.low[place] // TILE, there.high[place] // TILE + 1)
                for place in (device, device + 1)
            )
            found[ends, begins] = True
        return found

    def _may_fit(self, turns: int, limit: float | None) -> Mask:
        """The tiles with blocks of which some may be within a limit."""
        found: Mask = np.tri(self.tiles, dtype=bool)
        if limit is not None:
            low, _ = self._bounds_of_tiles(turns)
            found &= ~_off_diagonal(low > limit * (1 + ROUNDED))
        return found

    def _first(self, may_fit: Mask) -> Places:
        """For each end the earliest begin of a block that may fit."""
        first = np.minimum.accumulate(may_fit.argmax(axis=1)[::-1])[::-1]
        found: Places = np.repeat(TILE * first, TILE)[: self.layers + 1]
        return found

    def _bounds_of_tiles(self, turns: int) -> tuple[Array, Array]:
        """The least and the most that blocks in each tile may hold."""
        if turns not in self._bounds:
            self._bounds[turns] = self.block_memory.bounds(self.micro_batches, turns=turns)
        return self._bounds[turns]

    def _share_bounds(self, device: int, whole: float | None) -> tuple[Array, Array]:
        """The same as shares of a device's whole."""
        low, high = self._bounds_of_tiles(self.turns[device])
        return (0 * low, 0 * high) if whole is None else (low / whole, high / whole)


@dataclass(frozen=True)
class _Zone:
    """Where a device's stages can be.

    The tiles `between` the layers where they can begin and end; those that have blocks which
    `may_fit`; and for each end the first begin of such a block.
    """

    between: Mask
    may_fit: Mask
    first: Places


def _share(held: Array, whole: float | None) -> Array:
    return np.where(np.isfinite(held), 0.0, np.inf) if whole is None else held / whole


def _off_diagonal(tiles: Mask) -> Mask:
    """Those whose blocks all begin before they end."""
    found: Mask = tiles & np.tri(len(tiles), k=-1, dtype=bool)
    return found


def _least_of_tiles(lows: Sequence[Array]) -> float:
    """At most the fill of the fullest device, from those of tiles, whatever the placement."""
    reached = np.append(0.0, np.full(len(lows[0]) - 1, np.inf))
    for low in lows:
        fill = np.where(np.tri(len(low), k=-1, dtype=bool), low, np.inf)
        np.fill_diagonal(fill, 0.0)  # a device may have no layer
        reached = np.maximum(reached, fill).min(axis=1)
    return float(reached[-1])


def _enough_for_tiles(highs: Sequence[Array]) -> float:
    """A fill of the fullest device that some placement does not exceed, from those of tiles."""
    reached = np.full(len(highs[0]), np.inf)
    for high in highs:
        fill = np.where(np.tri(len(high), k=-1, dtype=bool), high, np.inf)
        stages = np.maximum(reached, fill).min(axis=1)
        # Any device can be the first that has layers.
        reached = np.minimum(np.minimum(reached, stages), high[:, 0])
    return float(reached[-1])
