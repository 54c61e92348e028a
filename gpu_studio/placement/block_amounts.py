"""Amounts of blocks of neighbouring layers: of some blocks exactly, of tiles of blocks as bounds.

A tile has the blocks with some neighbouring ends (rows of a table, see `blocks`) and some
neighbouring begins (columns). Bounds of tiles are tables, too, with an entry for each tile. They
tell of most blocks whether they fit without looking at each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpu_studio.placement.work import Array

TILE = 8
"""The ends of a tile, and its begins: bounds of larger ones are loose, of smaller ones many."""
Places = NDArray[np.int64]
Mask = NDArray[np.bool_]


def lowest(values: Array) -> Array:
    """The least of `values` in each tile along the first axis."""
    return _joined(np.minimum, values)


def highest(values: Array) -> Array:
    """The most of `values` in each tile along the first axis."""
    return _joined(np.maximum, values)


def _joined(join: np.ufunc, values: Array) -> Array:
    found = values[::TILE].copy()
    for place in range(1, TILE):
        some = values[place::TILE]  # the last tile may have fewer
        join(found[: len(some)], some, out=found[: len(some)])
    return found


@dataclass(frozen=True)
class BlockSet:
    """The blocks of layers b … e - 1 with e from `ends` and b from `begins`, of `layers` layers.

    These are arrays that have a common shape if they are broadcast. Where b is greater than e there
    is no block: amounts are undefined.
    """

    ends: Places
    begins: Places
    layers: int

    @cached_property
    def places(self) -> Places:
        """Where they are in the values of a table."""
        return self.ends * (self.layers + 1) + self.begins

    @cached_property
    def nowhere(self) -> Mask:
        """Whether there is no block."""
        return self.begins > self.ends

    @classmethod
    def of_tiles(cls, tiles: Mask, layers: int) -> BlockSet:
        """The blocks of these tiles, of shape (tiles, TILE, TILE).

        A tile at the border has its last row and column again and again.
        """
        within = np.arange(TILE)
        rows, columns = np.nonzero(tiles)
        ends = np.minimum(rows[:, None] * TILE + within, layers)
        begins = np.minimum(columns[:, None] * TILE + within, layers)
        return cls(ends[:, :, None], begins[:, None, :], layers)

    @classmethod
    def of_rows(cls, ends: range, layers: int) -> BlockSet:
        """The blocks that end in `ends`, from the first layer on."""
        return cls(np.array(ends)[:, None], np.arange(ends.stop), layers)


class Amount(Protocol):
    """What each block has, of some kind."""

    def at(self, blocks: BlockSet) -> Array:
        """That of some blocks."""

    @property
    def low(self) -> Array:
        """For each tile, at most what each of its blocks has."""

    @property
    def high(self) -> Array:
        """For each tile, at least what each of its blocks has."""


@dataclass(frozen=True)
class Sums:
    """The sums over blocks, from the prefix sums that `blocks.before` returns; an `Amount`."""

    prefix: Array

    def at(self, blocks: BlockSet) -> Array:
        """The sums over some blocks."""
        found: Array = self.prefix[blocks.ends] - self.prefix[blocks.begins]
        return found

    @cached_property
    def low(self) -> Array:
        """For each tile, at most the least sum."""
        found: Array = lowest(self.prefix)[:, None] - highest(self.prefix)
        return found

    @cached_property
    def high(self) -> Array:
        """For each tile, at least the greatest sum."""
        found: Array = highest(self.prefix)[:, None] - lowest(self.prefix)
        return found


@dataclass(frozen=True)
class BlockTable:
    """What stands in a table; an `Amount`."""

    values: Array

    def at(self, blocks: BlockSet) -> Array:
        """The entries of some blocks."""
        found: Array = self.values.take(blocks.places)
        return found

    @cached_property
    def low(self) -> Array:
        """For each tile, its least entry."""
        return lowest(lowest(self.values).T).T

    @cached_property
    def high(self) -> Array:
        """For each tile, its greatest entry."""
        return highest(highest(self.values).T).T


def filled(table: Array) -> BlockTable | None:
    """The amounts in a table; None if all are 0, which costs nothing to count with."""
    return BlockTable(table) if table.any() else None


@dataclass(frozen=True)
class Exactly:
    """Amounts as they are in some blocks."""

    blocks: BlockSet

    def of(self, amount: Amount | None) -> Array | float:
        """An amount; 0 where there is none of it."""
        return 0.0 if amount is None else amount.at(self.blocks)

    def against(self, amount: Amount | None) -> Array | float:
        """The same of one that makes the result less."""
        return self.of(amount)


@dataclass(frozen=True)
class AtMost:
    """Amounts such that for each tile the result is an upper bound."""

    def of(self, amount: Amount | None) -> Array | float:
        """The most of an amount; 0 where there is none of it."""
        return 0.0 if amount is None else amount.high

    def against(self, amount: Amount | None) -> Array | float:
        """The least of one that makes the result less."""
        return 0.0 if amount is None else amount.low


@dataclass(frozen=True)
class AtLeast:
    """Amounts such that for each tile the result is a lower bound."""

    def of(self, amount: Amount | None) -> Array | float:
        """The least of an amount; 0 where there is none of it."""
        return AtMost().against(amount)

    def against(self, amount: Amount | None) -> Array | float:
        """The most of one that makes the result less."""
        return AtMost().of(amount)


View = Exactly | AtMost | AtLeast
