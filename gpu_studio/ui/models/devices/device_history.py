"""What the devices showed over time, for the plots: bounded memory, however long the window stays open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu_studio.hardware.samples import AnySample
from gpu_studio.ui.models.devices.sample_points import Metric, device_points
from gpu_studio.ui.models.devices.trace import Stretch, Trace

PEAKS: Final = frozenset({"memory", "temperature"})
"""Figures of which the highest counts and not the mean: a card that was full for a second was full."""


class DeviceHistory:
    """A trace of time (seconds since 1970) and value for each device and metric.

    Memory is in bytes, what goes over a bus in bytes a second, all else as the samples have it.
    """

    def __init__(self) -> None:
        self.first: float | None = None
        self.last = 0.0
        self._traces: dict[tuple[str, Metric], Trace] = {}

    def add(self, sample: AnySample) -> None:
        """Take in the figures of a sample; one that has none changes nothing."""
        for key, metric, value in device_points(sample):
            if value is not None:
                if self.first is None:
                    self.first = sample.time
                # A clock that was put back must not make a curve run backwards.
                self.last = max(self.last, sample.time)
                self._of(key, metric).add(self.last, value)

    def stretch(self, key: str, metric: Metric, start: float, span: float) -> Stretch | None:
        """What to draw of a device in a view; None if it has not shown this figure yet."""
        trace = self._traces.get((key, metric))
        return trace.stretch(start, span) if trace else None

    def has(self, metric: Metric, keys: Iterator[str] | list[str]) -> bool:
        """Whether any of these devices has shown this figure."""
        return any((key, metric) in self._traces for key in keys)

    def value_at(self, key: str, metric: Metric, time: float) -> float | None:
        """The newest value up to a moment; None if there was none, or none for so long that it is a gap."""
        trace = self._traces.get((key, metric))
        return trace.value_at(time) if trace else None

    def idle_seconds(self, key: str, most: float) -> float:
        """How long a card has never been busier than `most` percent, all the while being watched."""
        trace = self._traces.get((key, "utilisation"))
        return trace.last_above(most) if trace else 0.0

    def _of(self, key: str, metric: Metric) -> Trace:
        found = self._traces.get((key, metric))
        if found is None:
            found = self._traces[key, metric] = Trace(peaks=metric in PEAKS)
        return found
