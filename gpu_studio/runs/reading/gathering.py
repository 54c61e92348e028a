"""Gather frequent events, so that many are added to the curves by one array operation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from gpu_studio.contract.events import DeviceMemory, LearningRate, Memory, Steps
from gpu_studio.runs.reading.memory import MemorySeries
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
