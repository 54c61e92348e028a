"""The figures of the cards and the host over a whole run.

Memory is bounded: the series are thinned evenly, keeping the peaks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import numpy as np

from gpu_studio.contract.samples import AnySample
from gpu_studio.hardware.sample_points import Figure, run_points
from gpu_studio.runs.reading.series import Series

MOST_POINTS: Final = 1 << 14
"""A curve keeps the newest hour of seconds whole, and takes 0.25 MiB at most."""
LONGEST_GAP: Final = 15.0
"""Seconds after which a figure says nothing of a moment any more, and a curve is broken."""


class CardFigures:
    """A series of time (seconds since 1970) and value for each card, or the host, and figure.

    Memory is in bytes, utilisation in percent, power in watts. Unlike the window's own history,
    which forgets what is older than a day, this reaches back to the beginning of the run, however
    long that was.
    """

    def __init__(self) -> None:
        self.first: float | None = None
        self.last = 0.0
        self._series: dict[tuple[str, Figure], Series] = {}

    def add(self, samples: Iterable[AnySample]) -> None:
        """Add the figures of samples, which is cheaper together.

        Samples without figures are ignored.
        """
        points: defaultdict[tuple[str, Figure], list[tuple[float, float]]] = defaultdict(list)
        for sample in samples:
            for key, figure, value in run_points(sample):
                if value is not None:
                    points[key, figure].append((sample.time, value))
        for curve, found in points.items():
            self._of(*curve).add_rows(found)
            self.first = found[0][0] if self.first is None else self.first
            self.last = max(self.last, found[-1][0])

    def series(self, key: str, figure: Figure) -> Series | None:
        """Return the curve of a card; None if it has never reported this figure."""
        return self._series.get((key, figure))

    @property
    def all(self) -> dict[tuple[str, Figure], Series]:
        """Every existing curve, by card and figure."""
        return self._series

    def has(self, figure: Figure, keys: Iterable[str]) -> bool:
        """Return whether any of these cards has reported this figure."""
        return any((key, figure) in self._series for key in keys)

    def longest_gap(self, key: str, figure: Figure) -> float:
        """The seconds without a figure that make a gap: more where points were thinned."""
        series = self.series(key, figure)
        return LONGEST_GAP * (series.group if series else 1)

    def value_at(self, key: str, figure: Figure, time: float) -> float | None:
        """Return the newest value up to a moment.

        None if there was none, or none for so long that it is a gap.
        """
        series = self.series(key, figure)
        if series is None:
            return None
        series = series.nearest(time)
        times = series.column("time")
        place = int(np.searchsorted(times, time, side="right")) - 1
        if place < 0 or time - float(times[place]) > self.longest_gap(key, figure):
            return None
        return float(series.column("value")[place])

    def _of(self, key: str, figure: Figure) -> Series:
        found = self._series.get((key, figure))
        if found is None:
            found = self._series[key, figure] = Series(
                "time", "value", by="value", along="time", most=MOST_POINTS
            )
        return found
