"""One figure of one device over a day: whole for half an hour, then in buckets, in bounded memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST_POINTS: Final = 2048
LONGEST_SPAN: Final = 1_300.0
"""Seconds of a view up to which every point is drawn. Beyond, a pixel has several: what they come to is drawn."""
LONGEST_GAP: Final = 15.0
"""Seconds without a figure that are a gap: a class that is asked for comes at least every 8 s."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Buckets of `period` seconds, kept for `reach` seconds, and drawn in views of up to `longest_span` seconds."""

    period: float
    reach: float
    longest_span: float


TIERS: Final = (Tier(5, 21_600, 5_000), Tier(30, 86_400, 25_000), Tier(120, 86_400, math.inf))
"""The finer ones reach far back too: one may look closely at what was long ago."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of a curve: sorted times in seconds, shape (points,), as many values, and what is no longer joined.

    Each point stands for `period` seconds; 0 is the figure of a moment.
    """

    times: Array
    values: Array
    period: float
    longest_gap: float


class Trace:
    """Takes points in the order of their times, and gives what a view of some span has to draw.

    A bucket is worth the mean of its points, or with `peaks` the greatest: what is full for a second can fail then.
    """

    def __init__(self, *, peaks: bool = False) -> None:
        self._points = _Newest(2, MOST_POINTS)
        self._buckets = tuple(_Buckets(tier, peaks=peaks) for tier in TIERS)

    def __len__(self) -> int:
        """How many numbers are kept, of points and buckets together."""
        return sum(kept.size for kept in (self._points, *(buckets.rows for buckets in self._buckets)))

    def add(self, time: float, value: float) -> None:
        """Take a point."""
        self._points.add(time, value)
        for buckets in self._buckets:
            buckets.add(time, value)

    def stretch(self, start: float, span: float) -> Stretch:
        """What to draw of a view that begins at `start` and is `span` seconds wide: the finest that reaches so far."""
        if span <= LONGEST_SPAN and self._points.reaches(start):
            return self._whole()
        fits = (each for each in self._buckets if span <= each.tier.longest_span and each.rows.reaches(start))
        return next(fits, self._buckets[-1]).stretch

    def value_at(self, time: float) -> float | None:
        """The newest value up to a moment; None where there was none, or none for so long that it is a gap."""
        stretch = self.stretch(time, 0.0)
        place = int(np.searchsorted(stretch.times, time, side="right")) - 1
        if place < 0 or time - float(stretch.times[place]) > max(LONGEST_GAP, stretch.period):
            return None
        return float(stretch.values[place])

    def last_above(self, most: float) -> float:
        """Seconds from the newest point back to the last one above `most`, or to the last gap; 0 without points."""
        times, values = self._points.column(0), self._points.column(1)
        if not len(times):
            return 0.0
        breaks = np.append(values[:-1] > most, False)
        breaks[:-1] |= np.diff(times) > LONGEST_GAP
        begin = int(np.flatnonzero(breaks)[-1]) + 1 if breaks.any() else 0
        return 0.0 if values[-1] > most else float(times[-1] - times[begin])

    def _whole(self) -> Stretch:
        return Stretch(self._points.column(0), self._points.column(1), 0.0, LONGEST_GAP)


class _Newest:
    """The newest rows of numbers: at least `most` of them, once there are so many."""

    def __init__(self, columns: int, most: int) -> None:
        self._most = most
        self._data: Array = np.empty((columns, most + most // 4))
        self.size = 0
        self._dropped = False

    def add(self, *numbers: float) -> None:
        if self.size == self._data.shape[1]:
            self._data[:, : self._most] = self._data[:, -self._most :].copy()
            self.size, self._dropped = self._most, True
        self._data[:, self.size] = numbers
        self.size += 1

    def column(self, number: int) -> Array:
        view = self._data[number, : self.size]
        view.flags.writeable = False
        return view

    def reaches(self, time: float) -> bool:
        """Whether all that there ever was since `time` is still here; times are in the first column."""
        return not self._dropped or float(self._data[0, 0]) <= time


class _Buckets:
    """What many points come to, for each period of a tier in which there were some."""

    def __init__(self, tier: Tier, *, peaks: bool) -> None:
        self.tier = tier
        self.rows = _Newest(2, math.ceil(tier.reach / tier.period))
        self._period, self._peaks = tier.period, peaks
        self._slot = 0.0
        self._count, self._sum, self._greatest = 0, 0.0, -math.inf

    def add(self, time: float, value: float) -> None:
        slot = time // self._period
        if self._count and slot != self._slot:
            self.rows.add((self._slot + 0.5) * self._period, self._worth())
            self._count, self._sum, self._greatest = 0, 0.0, -math.inf
        self._slot = slot
        self._count += 1
        self._sum += value
        self._greatest = max(self._greatest, value)

    @property
    def stretch(self) -> Stretch:
        return Stretch(self.rows.column(0), self.rows.column(1), self._period, 1.5 * self._period)

    def _worth(self) -> float:
        return self._greatest if self._peaks else self._sum / self._count
