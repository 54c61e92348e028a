"""The memory of one logical device over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gpu_studio.contract.events import DeviceMemory
from gpu_studio.runs.reading.series import Array, Series

# More than two hours at two samples per second before thinning; 0.4 MiB per device.
_MOST_POINTS: Final = 1 << 14


class MemorySeries:
    """The memory used on one logical device, in bytes. `source` says what was counted.

    Its values are those of `events.DeviceMemory`.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.latest: DeviceMemory | None = None
        self._peak = 0
        self._series = Series(
            "time", "current", "peak", by="current", along="time", most=_MOST_POINTS
        )

    @property
    def total(self) -> int:
        """The number of samples ever added."""
        return self._series.total

    @property
    def times(self) -> Array:
        """Seconds since 1970 (UTC) of each sample, shape (samples,)."""
        return self._series.column("time")

    @property
    def current(self) -> Array:
        """Bytes in use at each sample, shape (samples,)."""
        return self._series.column("current")

    @property
    def peaks(self) -> Array:
        """The largest use so far, as reported with each sample, in bytes, shape (samples,)."""
        return self._series.column("peak")

    @property
    def series(self) -> Series:
        """Columns time, current and peak."""
        return self._series

    @property
    def limit(self) -> int | None:
        """The device's limit in bytes; None if it has none."""
        return self.latest.limit if self.latest else None

    @property
    def source(self) -> str:
        """What was counted: `allocator`, `host` or `variables`; empty before the first sample."""
        return self.latest.source if self.latest else ""

    @property
    def peak(self) -> int:
        """The most bytes ever in use, 0 before the first sample."""
        return self._peak

    def add(self, time: float, sample: DeviceMemory) -> None:
        """Add a sample taken at `time`."""
        self.add_all(((time, sample),))

    def add_all(self, samples: Sequence[tuple[float, DeviceMemory]]) -> None:
        """Add samples, one or more, each with the time it was taken at.

        Cheaper together than one by one.
        """
        self.latest = samples[-1][1]
        self._peak = max(self._peak, max(sample.peak for _, sample in samples))
        self._series.add_rows([(time, sample.current, sample.peak) for time, sample in samples])

    def foresee(self, later: MemorySeries) -> None:
        """Show the samples of `later` after these until they are added."""
        self._series.foresee(later.times, later.current, later.peaks)

    def share(self, other: MemorySeries) -> None:
        """From now on, show the growing curves of `other`, with the newest sample known here."""
        self._series = other._series
