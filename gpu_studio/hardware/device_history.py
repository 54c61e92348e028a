"""The history of device figures for plots, in bounded memory however long the window stays open.

Every value is kept for half an hour; older ones are aggregated in buckets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpu_studio.contract.samples import AnySample
from gpu_studio.hardware.sample_points import Metric, device_points

Array = NDArray[np.float64]

MOST_POINTS: Final = 2048
LONGEST_SPAN: Final = 1_300.0
"""Seconds of a view up to which every point is drawn.

Beyond, a pixel has several: what they come to is drawn.
"""
LONGEST_GAP: Final = 15.0
"""Seconds without a figure that are a gap: a class that is asked for comes at least every 8 s."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Buckets of `period` seconds, kept for `reach` seconds.

    They are drawn in views of up to `longest_span` seconds.
    """

    period: float
    reach: float
    longest_span: float


TIERS: Final = (Tier(5, 21_600, 5_000), Tier(30, 86_400, 25_000), Tier(120, 86_400, math.inf))
"""The finer tiers reach far back too, so that old data can be viewed closely."""


@dataclass(frozen=True, slots=True)
class CurveStretch:
    """A piece of a curve: sorted times in seconds, shape (points,), the values, and the gap length.

    Each point stands for `period` seconds; 0 is an instantaneous value.
    """

    times: Array
    values: Array
    period: float
    longest_gap: float


class DeviceTrace:
    """Takes points in the order of their times, and returns what a view of some span has to draw.

    A bucket is the mean of its points, or with `peaks` the maximum: a card that is full for a
    second can fail.
    """

    def __init__(self, *, peaks: bool = False) -> None:
        self._points = _Newest(2, MOST_POINTS)
        self._buckets = tuple(_Buckets(tier, peaks=peaks) for tier in TIERS)

    def __len__(self) -> int:
        """The number of stored points and buckets."""
        return sum(
            kept.size for kept in (self._points, *(buckets.rows for buckets in self._buckets))
        )

    def add(self, time: float, value: float) -> None:
        """Add a point."""
        self._points.add(time, value)
        for buckets in self._buckets:
            buckets.add(time, value)

    def stretch(self, start: float, span: float) -> CurveStretch:
        """The points for a view of `span` seconds from `start`, in the finest tier possible."""
        if span <= LONGEST_SPAN and self._points.reaches(start):
            return self._whole()
        fits = (
            each
            for each in self._buckets
            if span <= each.tier.longest_span and each.rows.reaches(start)
        )
        return next(fits, self._buckets[-1]).stretch

    def value_at(self, time: float) -> float | None:
        """The latest value up to a moment; None if there was none, or none recent enough."""
        stretch = self.stretch(time, 0.0)
        place = int(np.searchsorted(stretch.times, time, side="right")) - 1
        if place < 0 or time - float(stretch.times[place]) > max(LONGEST_GAP, stretch.period):
            return None
        return float(stretch.values[place])

    def last_above(self, most: float) -> float:
        """Seconds from the newest point back to the last one above `most`, or to a gap.

        0 without points.
        """
        times, values = self._points.column(0), self._points.column(1)
        if not len(times):
            return 0.0
        breaks = np.append(values[:-1] > most, False)
        breaks[:-1] |= np.diff(times) > LONGEST_GAP
        begin = int(np.flatnonzero(breaks)[-1]) + 1 if breaks.any() else 0
        return 0.0 if values[-1] > most else float(times[-1] - times[begin])

    def _whole(self) -> CurveStretch:
        return CurveStretch(self._points.column(0), self._points.column(1), 0.0, LONGEST_GAP)


class _Newest:
    """The newest rows of numbers: at least `most` of them, if there are as many."""

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
        """Whether all rows since `time` are still here; times are in the first column."""
        return not self._dropped or float(self._data[0, 0]) <= time


class _Buckets:
    """The aggregates of each period of a tier that has points."""

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
    def stretch(self) -> CurveStretch:
        return CurveStretch(
            self.rows.column(0), self.rows.column(1), self._period, 1.5 * self._period
        )

    def _worth(self) -> float:
        return self._greatest if self._peaks else self._sum / self._count


PEAKS: Final = frozenset({"memory", "temperature"})
"""Figures aggregated by their maximum, not their mean: a card full for a second was full."""


class DeviceHistory:
    """A trace of time (seconds since 1970) and value for each device and metric.

    Memory is in bytes, bus traffic in bytes per second, all else as in the samples.
    """

    def __init__(self) -> None:
        self.first: float | None = None
        self.last = 0.0
        self._traces: dict[tuple[str, Metric], DeviceTrace] = {}

    def add(self, sample: AnySample) -> None:
        """Add the figures of a sample; one that has none changes nothing."""
        for key, metric, value in device_points(sample):
            if value is not None:
                if self.first is None:
                    self.first = sample.time
                # A clock that was set back must not make a curve run backwards.
                self.last = max(self.last, sample.time)
                self._of(key, metric).add(self.last, value)

    def stretch(self, key: str, metric: Metric, start: float, span: float) -> CurveStretch | None:
        """The points of a device for a view; None if it has never reported this figure."""
        trace = self._traces.get((key, metric))
        return trace.stretch(start, span) if trace else None

    def has(self, metric: Metric, keys: Iterator[str] | list[str]) -> bool:
        """Whether any of these devices has reported this figure."""
        return any((key, metric) in self._traces for key in keys)

    def value_at(self, key: str, metric: Metric, time: float) -> float | None:
        """The latest value up to a moment; None if there was none, or none recent enough."""
        trace = self._traces.get((key, metric))
        return trace.value_at(time) if trace else None

    def idle_seconds(self, key: str, most: float) -> float:
        """For how long the watched card has never been busier than `most` percent."""
        trace = self._traces.get((key, "utilisation"))
        return trace.last_above(most) if trace else 0.0

    def _of(self, key: str, metric: Metric) -> DeviceTrace:
        found = self._traces.get((key, metric))
        if found is None:
            found = self._traces[key, metric] = DeviceTrace(peaks=metric in PEAKS)
        return found
