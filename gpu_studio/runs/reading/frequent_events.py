"""Frequent events as curves: many are added by one array operation.

They are steps, learning rates, and the memory of each logical device over time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

import numpy as np

from gpu_studio.contract.events import DeviceMemory, LearningRate, Memory, Steps
from gpu_studio.runs.reading.series import Array, Series

FREQUENT = (Steps, Memory, LearningRate)


class Gathered:
    """Steps, memory and learning rates waiting to be added to their curves."""

    def __init__(self) -> None:
        self.steps: list[Steps] = []
        self.memory: list[Memory] = []
        self.rates: list[LearningRate] = []

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
                [(reported.step + 1, reported.value, reported.time) for reported in self.rates]
            )
            self.rates.clear()


def step_points(reported: Sequence[Steps]) -> tuple[Array, Array, Array]:
    """The number, loss and time of each step of these calls, each of shape (steps,).

    Steps count from 1. Only the end of a call has a time: its steps are spread evenly over it.
    """
    counts = np.array([len(event.losses) for event in reported])
    losses = np.array(
        list(chain.from_iterable(event.losses for event in reported)), dtype=np.float64
    )
    ends = np.array([event.time for event in reported])
    step_seconds = np.array([max(event.seconds, 0.0) for event in reported]) / np.maximum(counts, 1)
    before = np.arange(len(losses)) - np.repeat(np.cumsum(counts) - counts, counts)
    steps = np.repeat(np.array([event.first_step + 1.0 for event in reported]), counts) + before
    times = (
        np.repeat(ends - step_seconds * (counts - 1), counts)
        + np.repeat(step_seconds, counts) * before
    )
    return steps, losses, times


def pour_memory(reported: Sequence[Memory], into: dict[str, MemorySeries]) -> None:
    """Add samples to the series of their devices, which are created if needed."""
    found: dict[str, list[tuple[float, DeviceMemory]]] = {}
    for event in reported:
        for sample in event.devices:
            found.setdefault(sample.device, []).append((event.time, sample))
    for device, samples in found.items():
        if device not in into:
            into[device] = MemorySeries(device)
        into[device].add_all(samples)


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
