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
    """

    duration: float = 0.0
    live: bool = True
    least: float = SHORTEST

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
    """From `start` to `end` seconds after the run's start.

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
    return TimeWindow(end=extent.end)


def grown(window: TimeWindow, extent: Extent) -> TimeWindow:
    """The window after the run has become longer."""
    if window.whole:
        return replace(window, start=0.0, end=extent.end)
    if window.follow and extent.live and extent.duration > window.end:
        return _ending_near(window, extent.duration)
    return window


def zoomed(start: float, end: float, extent: Extent) -> TimeWindow:
    """From `start` to `end`, in either order, kept inside the axis and not too narrow: at least a second wide.

    It follows if the newest is in it; the whole axis is `whole`.
    """
    middle, half = (start + end) / 2, max(abs(end - start), extent.least) / 2
    low, high = max(middle - half, 0.0), min(middle + half, extent.end)
    if low <= 0.0 and high >= extent.end:
        return whole(extent)
    if high - low < extent.least:
        low = min(max(low, 0.0), extent.end - extent.least)
        high = low + extent.least
    return TimeWindow(low, high, whole=False, follow=extent.live and high >= extent.duration)


def zoomed_about(window: TimeWindow, centre: float, factor: float, extent: Extent) -> TimeWindow:
    """The window `factor` times as wide, with the moment `centre` where it was."""
    return zoomed(centre + (window.start - centre) * factor, centre + (window.end - centre) * factor, extent)


def panned(window: TimeWindow, seconds: float, extent: Extent) -> TimeWindow:
    """The window moved by `seconds`, as far as there is something to see."""
    by = min(max(seconds, -window.start), max(extent.end - window.end, 0.0))
    return zoomed(window.start + by, window.end + by, extent)


def followed(window: TimeWindow, follow: bool, extent: Extent) -> TimeWindow:
    """The window that follows the newest, or no longer does."""
    if not follow:
        return replace(window, follow=False, whole=False)
    following = replace(window, follow=True)
    return following if window.whole or extent.duration <= window.end else _ending_near(following, extent.duration)


def _ending_near(window: TimeWindow, moment: float) -> TimeWindow:
    end = max(moment + window.span / _STEPS, window.span)
    return replace(window, start=end - window.span, end=end)
