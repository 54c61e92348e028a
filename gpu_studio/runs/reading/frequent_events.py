"""The frequent events of a run as curves: steps, learning rates, and each device's memory.

Many are added by one array operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

import numpy as np

from gpu_studio.contract import DeviceMemory, LearningRate, Memory, Steps
from gpu_studio.runs.reading.series import Array, Series

FREQUENT = (Steps, Memory, LearningRate)


class Gathered:
    """Steps, memory and learning rates waiting to be added to their curves, each with its time.

    That is the time by a `SteadyClock`, which may be another than the event's own.
    """

    def __init__(self) -> None:
        self.steps: list[tuple[float, Steps]] = []
        self.memory: list[tuple[float, Memory]] = []
        self.rates: list[tuple[float, LearningRate]] = []

    def pour(self, losses: Series, memory: dict[str, MemorySeries], rates: Series) -> None:
        """Add everything to the curves, and clear."""
        if self.steps:
            losses.add(*step_points(self.steps))
            self.steps.clear()
        if self.memory:
            pour_memory(self.memory, memory)
            self.memory.clear()
        if self.rates:
            rates.add_rows(
                [(reported.step + 1, reported.value, time) for time, reported in self.rates]
            )
            self.rates.clear()


def step_points(reported: Sequence[tuple[float, Steps]]) -> tuple[Array, Array, Array]:
    """The number, loss and time of each step of these calls, each of shape (steps,).

    Steps count from 1. Only the end of a call has a time: its steps are spread evenly over it.
    """
    calls = [event for _, event in reported]
    counts = np.array([len(event.losses) for event in calls])
    losses = _losses_of(calls)
    ends = np.array([time for time, _ in reported])
    step_seconds = np.array([max(event.seconds, 0.0) for event in calls]) / np.maximum(counts, 1)
    before = np.arange(len(losses)) - np.repeat(np.cumsum(counts) - counts, counts)
    steps = np.repeat(np.array([event.first_step + 1.0 for event in calls]), counts) + before
    times = (
        np.repeat(ends - step_seconds * (counts - 1), counts)
        + np.repeat(step_seconds, counts) * before
    )
    return steps, losses, times


def _losses_of(calls: Sequence[Steps]) -> Array:
    try:
        return np.fromiter(chain.from_iterable(event.losses for event in calls), dtype=np.float64)
    except TypeError:  # some are no numbers
        losses = list(chain.from_iterable(event.losses for event in calls))
        return np.array(losses, dtype=np.float64)


def pour_memory(reported: Sequence[tuple[float, Memory]], into: dict[str, MemorySeries]) -> None:
    """Add samples to the series of their devices, which are created if needed."""
    found: dict[str, tuple[list[float], list[DeviceMemory]]] = {}
    for time, event in reported:
        for sample in event.devices:
            if (of_device := found.get(sample.device)) is None:
                of_device = found[sample.device] = ([], [])
            of_device[0].append(time)
            of_device[1].append(sample)
    for device, (times, samples) in found.items():
        if device not in into:
            into[device] = MemorySeries(device)
        into[device].add_all(times, samples)


# More than two hours at two samples per second before thinning; 0.4 MiB per device.
_MOST_POINTS: Final = 1 << 14


class MemorySeries:
    """The memory used on one logical device, in bytes. `source` says what was counted.

    Its values are those of `events.DeviceMemory`. Of runs of an older GPU Studio it is only known
    what was in use at the moment of each sample.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.latest: DeviceMemory | None = None
        self._peak = 0
        self._series = Series("time", "used", by="used", along="time", most=_MOST_POINTS)
        self._floor = Series("time", "least", by="least", along="time", most=_MOST_POINTS)

    @property
    def total(self) -> int:
        """The number of samples ever added."""
        return self._series.total

    @property
    def times(self) -> Array:
        """Seconds since 1970 (UTC) of each sample, shape (samples,)."""
        return self._series.column("time")

    @property
    def used(self) -> Array:
        """The most bytes in use since the sample before, shape (samples,)."""
        return self._series.column("used")

    @property
    def series(self) -> Series:
        """Columns time and used."""
        return self._series

    @property
    def floor(self) -> Series:
        """Columns time and least, in bytes: what stayed in use between steps, where it is known."""
        return self._floor

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
        self.add_all((time,), (sample,))

    def add_all(self, times: Sequence[float], samples: Sequence[DeviceMemory]) -> None:
        """Add samples, one or more, and when each was taken.

        Cheaper together than one by one.
        """
        self.latest = samples[-1]
        self._peak = max(self._peak, *[sample.peak for sample in samples])
        self._series.add(times, [sample.used for sample in samples])
        least = [sample.least for sample in samples]
        if least.count(None) < len(least):
            known = [(time, of) for time, of in zip(times, least, strict=True) if of is not None]
            self._floor.add_rows(known)

    def foresee(self, later: MemorySeries) -> None:
        """Show the samples of `later` after these until they are added."""
        self._series.foresee(later.times, later.used)
        self._floor.foresee(later.floor.column("time"), later.floor.column("least"))

    def share(self, other: MemorySeries) -> None:
        """From now on, show the growing curves of `other`, with the newest sample known here."""
        self._series, self._floor = other._series, other._floor
