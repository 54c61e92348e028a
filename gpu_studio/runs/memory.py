"""Memory of one logical device over time."""

from __future__ import annotations

from typing import Final

from gpu_studio.runs.events import DeviceMemory
from gpu_studio.runs.series import Array, Series

# 18 hours at two samples a second before the resolution halves.
_MOST_POINTS: Final = 1 << 17


class MemorySeries:
    """What one logical device used, in bytes. `source` says what was counted, as in `events.DeviceMemory`."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.latest: DeviceMemory | None = None
        self._series = Series("time", "current", "peak", by="current", most=_MOST_POINTS)

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
        """The most bytes in use so far, as told with each sample, shape (samples,)."""
        return self._series.column("peak")

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
        return int(self.peaks.max()) if len(self.peaks) else 0

    def add(self, time: float, sample: DeviceMemory) -> None:
        """Add a sample taken at `time`."""
        self.latest = sample
        self._series.add(time, sample.current, sample.peak)
