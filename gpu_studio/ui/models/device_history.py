"""What the devices showed over time, for the plots: bounded memory, however long the window stays open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import numpy as np

from gpu_studio.hardware.samples import AnySample, Fast, Host, Pcie, Slow
from gpu_studio.runs.series import Series

Metric = Literal["memory", "utilisation", "power", "temperature", "pcie"]
HOST: Final = "host"
MIB: Final = 1024 * 1024
MOST_POINTS: Final = 1 << 14
"""A curve keeps four hours of seconds whole, and longer ones evenly thinned with their peaks: 0.25 MiB each."""
Point = tuple[str, Metric, float | None]


class DeviceHistory:
    """A series of time (seconds since 1970) and value for each device and metric.

    Memory is in bytes, what goes over the bus in bytes a second, all else as the samples have it.
    """

    def __init__(self) -> None:
        self.first: float | None = None
        self.last = 0.0
        self._series: dict[tuple[str, Metric], Series] = {}

    def add(self, sample: AnySample) -> None:
        """Take in the figures of a sample; one that has none changes nothing."""
        for key, metric, value in _points(sample):
            if value is not None:
                if self.first is None:
                    self.first = sample.time
                # A clock that was put back must not make a curve run backwards.
                self.last = max(self.last, sample.time)
                self._of(key, metric).add(self.last, value)

    def series(self, key: str, metric: Metric) -> Series | None:
        """The curve of a device; None if it has not shown this figure yet."""
        return self._series.get((key, metric))

    def has(self, metric: Metric, keys: Iterator[str] | list[str]) -> bool:
        """Whether any of these devices has shown this figure."""
        return any((key, metric) in self._series for key in keys)

    def value_at(self, key: str, metric: Metric, time: float) -> float | None:
        """The newest value up to a moment; None if there was none."""
        series = self.series(key, metric)
        if series is None:
            return None
        place = int(np.searchsorted(series.column("time"), time, side="right")) - 1
        return float(series.column("value")[place]) if place >= 0 else None

    def was_idle(self, key: str, seconds: float, most: float) -> bool:
        """Whether a card was never busier than `most` percent in the last `seconds`, all of which were watched."""
        series = self.series(key, "utilisation")
        if series is None or not len(series):
            return False
        times, values = series.column("time"), series.column("value")
        begin = int(np.searchsorted(times, self.last - seconds, side="right")) - 1
        return begin >= 0 and float(times[-1] - times[begin]) >= seconds and bool((values[begin:] <= most).all())

    def _of(self, key: str, metric: Metric) -> Series:
        found = self._series.get((key, metric))
        if found is None:
            found = self._series[key, metric] = Series("time", "value", by="value", most=MOST_POINTS)
        return found


def _points(sample: AnySample) -> Iterator[Point]:
    match sample:
        case Fast():
            for card in sample.cards:
                yield card.card, "memory", _bytes(card.memory_used_mib)
                yield card.card, "utilisation", card.utilisation_percent
                yield card.card, "power", card.power_w
        case Slow():
            yield from ((each.card, "temperature", each.temperature_c) for each in sample.cards)
        case Pcie():
            for bus in sample.cards:
                if bus.sent_mib_s is not None and bus.received_mib_s is not None:
                    yield bus.card, "pcie", _bytes(bus.sent_mib_s + bus.received_mib_s)
        case Host():
            yield HOST, "memory", _bytes(sample.memory_used_mib)
            yield HOST, "utilisation", sample.cpu_percent


def _bytes(mib: float | None) -> float | None:
    return None if mib is None else mib * MIB
