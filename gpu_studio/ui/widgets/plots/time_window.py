"""Which part of the time axis is shown: rules without a window."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

SHORTEST = 1.0
_SHORTEST_LIVE = 10.0
"""How much of a live axis is there at least, in what can be seen of it from the nearest."""
# A live axis grows in steps, so that ticks and grid stand still between them.
_STEPS = 8
# So that what happened at the very end does not stand on the edge.
_MARGIN = 1.015


@dataclass(frozen=True, slots=True)
class Extent:
    """How far there is something to see: a run of `duration` seconds, which goes on if it is `live`.

    Where the axis counts something else, `duration` is in that; `least` is what can be seen of it from the nearest.
    `begin`, 0 or less, is where the axis begins: what was trained before this run lies below 0.
    """

    duration: float = 0.0
    live: bool = True
    least: float = SHORTEST
    begin: float = 0.0

    @property
    def end(self) -> float:
        """The end of the whole axis: a live one is a round number and has room to grow."""
        if not self.live:
            return max(self.duration * _MARGIN, self.least)
        shortest = _SHORTEST_LIVE * self.least
        longest = max(self.duration * 1.04, shortest)
        step = shortest * 2.0 ** math.ceil(math.log2(longest / shortest / _STEPS))
        return math.ceil(longest / step) * step


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """From `start` to `end` seconds after the run's start; less than 0 is before it.

    `whole`: everything there is, however much it becomes. `follow`: the newest stays in sight.
    """

    start: float = 0.0
    end: float = _SHORTEST_LIVE
    whole: bool = True
    follow: bool = True

    @property
    def span(self) -> float:
        """Seconds from start to end."""
        return self.end - self.start


def whole(extent: Extent) -> TimeWindow:
    """All of the run."""
    return TimeWindow(extent.begin, extent.end)


def grown(window: TimeWindow, extent: Extent) -> TimeWindow:
    """The window after the run has become longer."""
    if window.whole:
        return replace(window, start=extent.begin, end=extent.end)
    if window.follow and extent.live and extent.duration > window.end:
        return _ending_near(window, extent)
    if window.start >= extent.begin:
        return window
    # What lay before the run was taken away from under it.
    return zoomed(window.start, window.end, extent) if window.end > extent.begin else whole(extent)


def zoomed(start: float, end: float, extent: Extent) -> TimeWindow:
    """From `start` to `end`, in either order, kept inside the axis and not too narrow: at least a second wide.

    It follows if the newest is in it; the whole axis is `whole`.
    """
    middle, half = (start + end) / 2, max(abs(end - start), extent.least) / 2
    low, high = max(middle - half, extent.begin), min(middle + half, extent.end)
    if low <= extent.begin and high >= extent.end:
        return whole(extent)
    if high - low < extent.least:
        low = min(max(low, extent.begin), extent.end - extent.least)
        high = low + extent.least
    return TimeWindow(low, high, whole=False, follow=extent.live and high >= extent.duration)


def zoomed_about(window: TimeWindow, centre: float, factor: float, extent: Extent) -> TimeWindow:
    """The window `factor` times as wide, with the moment `centre` where it was."""
    return zoomed(centre + (window.start - centre) * factor, centre + (window.end - centre) * factor, extent)


def panned(window: TimeWindow, seconds: float, extent: Extent) -> TimeWindow:
    """The window moved by `seconds`, as far as there is something to see."""
    by = min(max(seconds, extent.begin - window.start), max(extent.end - window.end, 0.0))
    return zoomed(window.start + by, window.end + by, extent)


def followed(window: TimeWindow, follow: bool, extent: Extent) -> TimeWindow:
    """The window that follows the newest, or no longer does."""
    if not follow:
        return replace(window, follow=False, whole=False)
    following = replace(window, follow=True)
    return following if window.whole or extent.duration <= window.end else _ending_near(following, extent)


def _ending_near(window: TimeWindow, extent: Extent) -> TimeWindow:
    end = max(extent.duration + window.span / _STEPS, extent.begin + window.span)
    return replace(window, start=end - window.span, end=end)
