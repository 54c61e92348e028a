"""Minima and maxima of blocks of a growing curve, so that drawing it need not visit every point.

It is the min/max tree with which audio editors draw waveforms: 16 points form a block, four blocks
the next longer one. A pixel column is assembled from the longest blocks that fit between its edges,
and from single points only where it begins or ends within a shortest block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]
Places = NDArray[np.int32]

BLOCK: Final = 16
_FAN: Final = 4
_LEVELS: Final = 5
_NONE: Final = -1


class Pyramid:
    """Blocks over the first `settled` points of a curve, which only grows, except for `cut`.

    Non-finite values are ignored. A block costs 12 bytes, a twentieth of its points, and is built
    when a picture first needs it. By `total`, the series' own, a caller can tell whether anything
    is new, and by `layout` whether more than the end may have changed.
    """

    def __init__(self) -> None:
        self.settled = 0
        self.total = 0
        self.layout = 0
        self._levels = [_Level(BLOCK * _FAN**number) for number in range(_LEVELS)]

    @property
    def nbytes(self) -> int:
        """The memory that the blocks take."""
        return sum(level.nbytes for level in self._levels)

    def settle(self, points: int, total: int) -> None:
        """Declare that this many points will not change any more."""
        self.settled, self.total = points, total

    def cut(self, points: int) -> None:
        """Discard everything from this point on, because it has changed."""
        self.settled = min(self.settled, points)
        self.layout += 1
        for level in self._levels:
            level.filled = min(level.filled, points // level.size)

    def extremes(self, y: Array, first: int, last: int, cuts: Indices) -> Indices:
        """Sorted indices from `first` to before `last` that include every extreme between `cuts`.

        They include the first minimum and the first maximum of the finite values between each two
        of the cuts (sorted, shape (cuts,)), and the first and the last point. `y` are the values of
        the whole curve.
        """
        found: list[NDArray[np.integer]] = []
        for level, blocks in self._pieces(y, first, last, cuts):
            found += [blocks] if level is None else [level.least[blocks], level.greatest[blocks]]
        places = np.concatenate(found)
        places.sort()
        return places[np.searchsorted(places, 0) :]

    def missing(self, y: Array, first: int, last: int) -> Indices:
        """The indices from `first` to before `last` of non-finite values, shape (indices,)."""
        self._cover(y)
        level = self._levels[0]
        begin = min(-(-first // BLOCK), level.filled)
        end = max(min(last // BLOCK, level.filled), begin)
        holed = begin + np.flatnonzero(level.counts[begin:end] < BLOCK)
        inside = (holed[:, np.newaxis] * BLOCK + np.arange(BLOCK)).ravel()
        head = np.arange(first, min(begin * BLOCK, last))
        places = np.concatenate((head, inside, np.arange(max(end * BLOCK, first), last)))
        return places[~np.isfinite(y[places])]

    def _pieces(self, y: Array, first: int, last: int, cuts: Indices) -> Iterator[Piece]:
        """Whole blocks without a cut inside, from the longest down, then single points."""
        self._cover(y)
        # So the first and the last point are single points.
        cuts = np.concatenate((cuts, (first, first + 1, last - 1, last)))
        number = _longest((last - first) // len(cuts))
        level = self._levels[number]
        blocks = level.between(first, last)
        while True:
            whole = ~level.touched(cuts)[blocks]
            yield level, blocks[whole]
            broken = blocks[~whole]
            if number == 0:
                break
            number, behind = number - 1, level.filled * level.size
            level = self._levels[number]
            children = level.inside(
                (broken[:, np.newaxis] * _FAN + np.arange(_FAN)).ravel(), first, last
            )
            blocks = np.concatenate((children, level.between(max(first, behind), last)))
        points = (broken[:, np.newaxis] * BLOCK + np.arange(BLOCK)).ravel()
        points = points[np.searchsorted(points, first) : np.searchsorted(points, last)]
        yield None, np.concatenate((points, np.arange(max(first, level.filled * BLOCK), last)))

    def _cover(self, y: Array) -> None:
        """Build the blocks of the newly settled points."""
        below = None
        for level in self._levels:
            level.fill(y, self.settled // level.size, below)
            below = level


class _Level:
    """The blocks of one length: the indices of their first minimum and maximum, -1 without one.

    `counts` is the number of finite points of each.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.filled = 0
        self.least: Places = np.empty(0, dtype=np.int32)
        self.greatest: Places = np.empty(0, dtype=np.int32)
        self.counts: Places = np.empty(0, dtype=np.int32)

    @property
    def nbytes(self) -> int:
        return self.least.nbytes + self.greatest.nbytes + self.counts.nbytes

    def between(self, first: int, last: int) -> Indices:
        """The blocks with any of the points from `first` to before `last`."""
        return np.arange(first // self.size, min(-(-last // self.size), self.filled))

    def inside(self, blocks: Indices, first: int, last: int) -> Indices:
        """Those of the sorted blocks with any of these points."""
        return blocks[
            np.searchsorted(blocks, first // self.size) : np.searchsorted(
                blocks, -(-last // self.size)
            )
        ]

    def touched(self, cuts: Indices) -> Flags:
        """For each block whether a cut is inside it, not just at its edge."""
        flags = np.zeros(self.filled + 1, dtype=np.bool_)
        inner = cuts[cuts % self.size > 0] // self.size
        flags[np.minimum(inner, self.filled)] = True
        return flags

    def fill(self, y: Array, blocks: int, below: _Level | None) -> None:
        """Extend to this many blocks; those of the level below exist."""
        begin = self.filled
        if blocks <= begin:
            return
        self._grow(blocks)
        new = slice(begin, blocks)
        if below is None:
            within = slice(begin * self.size, blocks * self.size)
            values, finite = (
                y[within].reshape(-1, self.size),
                np.isfinite(y[within]).reshape(-1, self.size),
            )
            self.counts[new] = finite.sum(axis=1)
            places = np.arange(within.start, within.stop, dtype=np.int32).reshape(-1, self.size)
            self._choose(
                new,
                places,
                places,
                *(2 * (values if finite.all() else np.where(finite, values, np.nan),)),
            )
        else:
            under = slice(begin * _FAN, blocks * _FAN)
            self.counts[new] = below.counts[under].reshape(-1, _FAN).sum(axis=1)
            least, greatest = (
                each[under].reshape(-1, _FAN) for each in (below.least, below.greatest)
            )
            self._choose(new, least, greatest, _at(y, least), _at(y, greatest))
        self.filled = blocks

    def _choose(self, new: slice, low: Places, high: Places, lows: Array, highs: Array) -> None:
        """Reduce each row of indices to those of its first minimum and first maximum, if any."""
        rows, there = np.arange(len(low)), self.counts[new] > 0
        if not np.isfinite(lows).all():
            lows, highs = (
                np.where(np.isnan(lows), np.inf, lows),
                np.where(np.isnan(highs), -np.inf, highs),
            )
        self.least[new] = np.where(there, low[rows, lows.argmin(axis=1)], _NONE)
        self.greatest[new] = np.where(there, high[rows, highs.argmax(axis=1)], _NONE)

    def _grow(self, blocks: int) -> None:
        capacity = len(self.least)
        if blocks > capacity:
            more = max(blocks, 2 * capacity) - capacity
            self.least, self.greatest = (
                np.pad(self.least, (0, more)),
                np.pad(self.greatest, (0, more)),
            )
            self.counts = np.pad(self.counts, (0, more))


Piece = tuple[_Level | None, Indices]


def _longest(between_cuts: int) -> int:
    """The longest level of which two blocks fit between cuts this far apart."""
    return next(
        (
            number
            for number in range(_LEVELS - 1, 0, -1)
            if 2 * BLOCK * _FAN**number <= between_cuts
        ),
        0,
    )


def _at(y: Array, places: Places) -> Array:
    """The values there; NaN where there is none."""
    return np.where(places == _NONE, np.nan, y[places])
