"""Greedy placement of parameters: each goes to the device with the smallest load so far."""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def least_loaded(loads: Sequence[float], devices: int) -> tuple[int, ...]:
    """Return the device index for each load: heaviest first, each to the least loaded device.

    The fullest device gets at most 4/3 - 1/(3 · devices) times the optimum (longest processing time
    first, Graham 1969, theorem 2). Raises ValueError if there is no device.
    """
    if devices < 1:
        raise ValueError(
            f"{len(loads)} loads cannot be dealt to {devices} devices: give at least one."
        )
    heap = [(0.0, device) for device in range(devices)]
    placed = [0] * len(loads)
    for item in sorted(range(len(loads)), key=lambda item: -loads[item]):
        load, device = heapq.heappop(heap)
        placed[item] = device
        heapq.heappush(heap, (load + loads[item], device))
    return tuple(placed)
