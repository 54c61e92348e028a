"""How much of a step each device works and how much it waits, in predicted and measured steps."""

from __future__ import annotations

from collections.abc import Iterable

Span = tuple[float, float]
"""Begin and end, in seconds."""


def covered(spans: Iterable[Span]) -> float:
    """The seconds covered by at least one of the spans."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def busy_seconds(spells: Iterable[tuple[int, Span]]) -> dict[int, float]:
    """For each device (by index) the seconds in which it does anything."""
    by_device: dict[int, list[Span]] = {}
    for device, span in spells:
        by_device.setdefault(device, []).append(span)
    return {device: covered(spans) for device, spans in by_device.items()}


def bubble_of(busy: Iterable[float], seconds: float) -> float:
    """The share of a step of `seconds` in which the devices that do anything wait."""
    taken = list(busy)
    return 1 - sum(taken) / (len(taken) * seconds) if taken and seconds else 0.0
