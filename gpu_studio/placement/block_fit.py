"""Which blocks fit on which device of a row, and how full the fullest device has to be.

Bounds of tiles (see `block_amounts`) tell of most blocks whether they fit. Of the others only those
are looked at that can be stages of a placement that matters: the devices before and behind have to
hold the other layers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gpu_studio.placement.block_amounts import TILE, BlockSet, Mask, Places, lowest
from gpu_studio.placement.block_memory import BlockMemory
from gpu_studio.placement.stage_memory import turns_at_once
from gpu_studio.placement.stages import Frame, SentBytes, frame
from gpu_studio.placement.work import Array, Device

ROUNDED = 1e-9
"""By what share of it a bound is loosened, as numbers are rounded."""

Value = Callable[[int, Array], Array]
Join = Callable[[Array, Array | float], Array]


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

        Of those that cannot be stages not all are reported.
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
        unsure = between & may_fit & ~_off_diagonal(high <= limit)
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

        def share(device: int, held: Array) -> Array:
            whole = wholes[device]
            return np.where(np.isfinite(held), 0.0, np.inf) if whole is None else held / whole

        return float(self._reached(share, np.maximum)[-1][-1])

    def lacking(self) -> list[tuple[int, float]]:
        """The devices that lack memory, and how many bytes, if as little as possible is lacking."""
        reached = self._reached(self._over, np.add)
        end, found = self.layers, []
        for device in reversed(range(len(self.devices))):
            blocks = BlockSet.of_rows(range(end, end + 1), self.layers)
            over = self._over(device, self._held(blocks, self.turns[device]))[0]
            begin = int((reached[device][: end + 1] + over).argmin())
            if over[begin] > 0:
                found.append((device, float(over[begin])))
            end = begin
        return found[::-1]

    def _reached(self, value: Value, join: Join) -> list[Array]:
        """Entry [d][n] is the least value of placing the first n layers on the devices before d.

        A stage contributes its `value` on the device, combined with the others by `join`. Where
        this cannot lead to the least value of all layers, it may be infinite.
        """
        bounds = [
            [value(device, bound) for bound in self._bounds_of_tiles(turns)]
            for device, turns in enumerate(self.turns)
        ]
        lows, known = [_or_none(low) for low, _ in bounds], _enough([b for _, b in bounds], join)
        ahead, behind = _least_before(lows, join), _least_behind(lows, join)
        # What is surely less than the fullest does not count, nor does what lacks nothing.
        floor = float(ahead[-1][-1]) if join is np.maximum else 0.0
        reached = [np.append(0.0, np.full(self.layers, np.inf))]
        for device, (low, (_, high)) in enumerate(zip(lows, bounds, strict=True)):
            least = join(join(ahead[device], low), behind[device + 1][:, None])
            tiles = least <= known * (1 + ROUNDED)
            few = tiles & _off_diagonal(high <= floor)
            found = np.where(few, join(lowest(reached[-1]), floor), np.inf).min(axis=1)
            found = np.repeat(found[:, None], TILE, axis=1)
            blocks = BlockSet.of_tiles(tiles & ~few, self.layers)
            values = value(device, self._held(blocks, self.turns[device]))
            best = join(reached[-1][blocks.begins], values).min(axis=2)
            np.minimum.at(found, np.nonzero(tiles & ~few)[0], best)
            reached.append(found.reshape(-1)[: self.layers + 1])
        return reached

    def _over(self, device: int, held: Array) -> Array:
        """The bytes that blocks lack on a device."""
        limit = self.devices[device].limit
        if limit is None:
            return np.where(np.isfinite(held), 0.0, np.inf)
        found: Array = np.maximum(held - limit, 0.0)
        return found

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
        return [_Zone(self._between(there, device), first) for device, first in enumerate(firsts)]

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
            found &= ~_off_diagonal(low > limit)
        return found

    def _first(self, may_fit: Mask) -> Places:
        """For each end the earliest begin of a block that may fit."""
        first = np.minimum.accumulate(may_fit.argmax(axis=1)[::-1])[::-1]
        found: Places = np.repeat(TILE * first, TILE)[: self.layers + 1]
        return found

    def _bounds_of_tiles(self, turns: int) -> tuple[Array, Array]:
        """The least and the most that blocks in each tile may hold."""
        if turns not in self._bounds:
            low, high = self.block_memory.bounds(self.micro_batches, turns=turns)
            self._bounds[turns] = low - ROUNDED * np.abs(low), high + ROUNDED * np.abs(high)
        return self._bounds[turns]


@dataclass(frozen=True)
class _Zone:
    """Where a device's stages can be.

    The tiles `between` the layers where they can begin and end, and for each end the first begin of
    a block that may fit.
    """

    between: Mask
    first: Places


def _off_diagonal(tiles: Mask) -> Mask:
    """Those whose blocks all begin before they end."""
    found: Mask = tiles & np.tri(len(tiles), k=-1, dtype=bool)
    return found


def _or_none(low: Array) -> Array:
    """Lower bounds of tiles: infinite without a block, and 0 where one may have no layer."""
    found = np.where(np.tri(len(low), k=-1, dtype=bool), low, np.inf)
    np.fill_diagonal(found, 0.0)
    return found


def _least_before(lows: Sequence[Array], join: Join) -> list[Array]:
    """Lower bounds of the first layers, up to those of each tile, on the devices before each."""
    reached = [np.append(0.0, np.full(len(lows[0]) - 1, np.inf))]
    for low in lows:
        reached.append(join(reached[-1], low).min(axis=1))
    return reached


def _least_behind(lows: Sequence[Array], join: Join) -> list[Array]:
    """Lower bounds of the last layers, from those of each tile on, on the devices from each on."""
    reached = [np.append(np.full(len(lows[0]) - 1, np.inf), 0.0)]
    for low in reversed(lows):
        reached.append(join(reached[-1][:, None], low).min(axis=0))
    return reached[::-1]


def _enough(highs: Sequence[Array], join: Join) -> float:
    """What the value of some placement does not exceed, from upper bounds of tiles."""
    reached = np.full(len(highs[0]), np.inf)
    for high in highs:
        block = np.where(np.tri(len(high), k=-1, dtype=bool), high, np.inf)
        stages = join(reached, block).min(axis=1)
        # Any device can be the first that has layers.
        reached = np.minimum(np.minimum(reached, stages), high[:, 0])
    return float(reached[-1])
