"""For how much of a step each device works, and for how much it waits: of a predicted one and of a measured one."""

from __future__ import annotations

from collections.abc import Iterable

Span = tuple[float, float]
"""From when to when, in seconds."""


def covered(spans: Iterable[Span]) -> float:
    """The seconds in which at least one of the spans is under way."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def busy_seconds(spells: Iterable[tuple[int, Span]]) -> dict[int, float]:
    """For each device (its place) the seconds in which it does anything at all."""
    by_device: dict[int, list[Span]] = {}
    for device, span in spells:
        by_device.setdefault(device, []).append(span)
    return {device: covered(spans) for device, spans in by_device.items()}


def bubble_of(busy: Iterable[float], seconds: float) -> float:
    """The share of the devices' time in a step of `seconds` in which those wait that do something at all."""
    taken = list(busy)
    return 1 - sum(taken) / (len(taken) * seconds) if taken and seconds else 0.0
