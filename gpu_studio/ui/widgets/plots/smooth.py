"""Smoothing of a noisy curve over its steps, as TensorBoard does it: the same at any zoom and width.

The exponential moving average s_t = w s_{t-1} + (1 - w) y_t, divided by 1 - w^t, without the bias towards its start
(Kingma and Ba 2014, "Adam", section 3).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gpu_studio.runs.reading.pyramid import Pyramid
from gpu_studio.ui.widgets.plots.decimate import Array

_BLOCK: Final = 64
"""Points that one product of matrices averages: more would take longer each, fewer make more of them."""
_LEAST: Final = math.log(1e-17)


def smooth(y: Array, weight: float) -> Array:
    """The average of `y`, shape (points,); `weight`, 0 (nothing is smoothed) to below 1, is the share of the past.

    What is no number stays so, and does not count.
    """
    return _values(averages(y, weight), y) if weight > 0 else y


def averages(y: Array, weight: float, before: tuple[float, float] = (0.0, 0.0)) -> Array:
    """The sums of the past and their shares, shape (2, points); `before` are those of the point before the first.

    The average is their quotient. Of what is no number they are those of the point before.
    """
    finite = np.isfinite(y)
    if finite.all():
        return _averages(y, weight, before)
    known = np.concatenate((np.array(before)[:, np.newaxis], _averages(y[finite], weight, before)), axis=1)
    return known[:, np.cumsum(finite)]


def _averages(y: Array, weight: float, before: tuple[float, float]) -> Array:
    past, share = before
    found = np.ones((2, len(y)))
    found[0] = _sums(y, weight, past)
    # What is left of a weight after so many points changes no digit of 1, and takes long to compute.
    felt = min(len(y), math.ceil(_LEAST / math.log(weight))) if weight > 0 else 1
    found[1, :felt] -= (1 - share) * weight ** np.arange(1, felt + 1)
    return found


def _sums(y: Array, weight: float, past: float) -> Array:
    """A block of points is multiplied by the weights within it; what came before the block is added."""
    blocks = -(-len(y) // _BLOCK)
    rows = np.zeros((blocks, _BLOCK))
    rows.ravel()[: len(y)] = y
    distance = np.subtract.outer(np.arange(_BLOCK), np.arange(_BLOCK))
    sums = rows @ np.where(distance >= 0, (1 - weight) * weight ** np.maximum(distance, 0), 0.0).T
    carried, before = np.empty(blocks), past
    whole = weight**_BLOCK
    for number, last in enumerate(sums[:, -1].tolist()):
        carried[number] = before
        before = last + whole * before
    sums += np.outer(carried, weight ** np.arange(1, _BLOCK + 1))
    flat: Array = sums.ravel()[: len(y)]
    return flat


def _values(found: Array, y: Array) -> Array:
    quotient: Array = np.divide(found[0], found[1], out=np.full(len(y), np.nan), where=np.isfinite(y) & (found[1] > 0))
    return quotient


class Average:
    """The average of a curve that grows at its end: what has settled is averaged once."""

    def __init__(self) -> None:
        self.pyramid = Pyramid()
        """Blocks over what was averaged last and has settled."""
        self._of: object = None
        self._done = 0
        self._found = np.empty((2, 0))
        self._values = np.empty(0)

    def of(self, y: Array, weight: float, *, thinned: tuple[int, float], settled: int, version: object) -> Array:
        """The averages of all of `y`, shape (points,), of which the first `settled` stay until `version` changes.

        `thinned`: so many of the oldest points stand for so many steps each. The next call may write into the result.
        """
        version = (version, weight, thinned)
        if version != self._of:
            self._of, self._done = version, 0
            self.pyramid.cut(0)
        self._make_room(len(y))
        new = slice(self._done, len(y))
        self._found[:, new] = self._averages(y, weight, thinned)
        self._values[new] = _values(self._found[:, new], y[new])
        self._done = min(settled, len(y))
        self.pyramid.settle(self._done, len(y))
        return self._values[: len(y)]

    def going_on(self, y: Array, weight: float, place: int) -> Array:
        """The averages of other points `y`, which stand in the curve's place from its point number `place` on."""
        return _values(averages(y, weight, self._before(min(place, self._done))), y)

    def _averages(self, y: Array, weight: float, thinned: tuple[int, float]) -> Array:
        done, (count, steps) = self._done, thinned
        before = self._before(done)
        coarse = averages(y[done:count], weight**steps, before)
        if coarse.shape[1]:
            before = (float(coarse[0, -1]), float(coarse[1, -1]))
        return np.concatenate((coarse, averages(y[max(done, count) :], weight, before)), axis=1)

    def _before(self, place: int) -> tuple[float, float]:
        return (float(self._found[0, place - 1]), float(self._found[1, place - 1])) if place else (0.0, 0.0)

    def _make_room(self, points: int) -> None:
        if points > len(self._values):
            more = max(points, 2 * len(self._values)) - len(self._values)
            self._found, self._values = np.pad(self._found, ((0, 0), (0, more))), np.pad(self._values, (0, more))
