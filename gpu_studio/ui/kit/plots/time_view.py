"""The part of the time axis that several plots show, and the moment under their crosshair."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal

from gpu_studio.ui.kit.plots.axes import SHORTEST, TIME, Ruler

_SHORTEST_LIVE = 10.0
"""How much of a live axis is there at least, in what can be seen of it from the nearest."""
# A live axis grows in steps, so that ticks and grid stand still between them.
_STEPS = 8
# So that what happened at the very end does not stand on the edge.
_MARGIN = 1.015


@dataclass(frozen=True, slots=True)
class Extent:
    """How far there is something to see.

    A run of `duration` seconds, which goes on if it is `live`.

    Where the axis counts something else, `duration` is in that; `least` is what can be seen of it
    from the nearest. `begin`, 0 or less, is where the axis begins: what was trained before this run
    lies below 0.
    """

    duration: float = 0.0
    live: bool = True
    least: float = SHORTEST
    begin: float = 0.0

    @property
    def end(self) -> float:
        """The end of the whole axis: a live one is a round number and has space to grow."""
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
    """From `start` to `end`, in either order, kept inside the axis and not too narrow.

    At least a second wide.

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
    return zoomed(
        centre + (window.start - centre) * factor, centre + (window.end - centre) * factor, extent
    )


def panned(window: TimeWindow, seconds: float, extent: Extent) -> TimeWindow:
    """The window moved by `seconds`, as far as there is something to see."""
    by = min(max(seconds, extent.begin - window.start), max(extent.end - window.end, 0.0))
    return zoomed(window.start + by, window.end + by, extent)


def followed(window: TimeWindow, follow: bool, extent: Extent) -> TimeWindow:
    """The window that follows the newest, or no longer does."""
    if not follow:
        return replace(window, follow=False, whole=False)
    following = replace(window, follow=True)
    return (
        following
        if window.whole or extent.duration <= window.end
        else _ending_near(following, extent)
    )


def _ending_near(window: TimeWindow, extent: Extent) -> TimeWindow:
    end = max(extent.duration + window.span / _STEPS, extent.begin + window.span)
    return replace(window, start=end - window.span, end=end)


_NUDGE = 0.01


class TimeView(QObject):
    """One axis for several plots.

    Moments are seconds after the run's start; the window is in what the ruler counts.

    With the usual ruler that is seconds too. `window_changed` says that the window is another one:
    `window_chosen` that it was chosen, `window_followed` that it follows an axis that has grown.
    """

    window_changed = Signal()
    window_chosen = Signal()
    window_followed = Signal()
    ruler_changed = Signal()
    cursor_changed = Signal()
    follow_changed = Signal(bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._reported = self._extent = Extent()
        self._window = TimeWindow()
        self._ruler = TIME
        self._cursor: float | None = None

    @property
    def window(self) -> TimeWindow:
        """The part of the axis that is shown."""
        return self._window

    @property
    def extent(self) -> Extent:
        """How far the run has gone, and whether it goes on."""
        return self._extent

    @property
    def ruler(self) -> Ruler:
        """What the axis counts."""
        return self._ruler

    @property
    def cursor(self) -> float | None:
        """The moment under the crosshair; None if there is no crosshair."""
        return self._cursor

    def restart(self) -> None:
        """Show a new run: all of it, without a crosshair."""
        self._reported = self._extent = Extent()
        self.show_all()
        self.move_cursor(None)

    def set_extent(self, extent: Extent) -> None:
        """The run has become this many seconds long, and this is what is known from before it."""
        self._reported = extent
        self._extent = self._measured(extent)
        self._show(grown(self._window, self._extent), chosen=False)

    def set_ruler(self, ruler: Ruler) -> None:
        """Count in this from now on: what was shown and under the crosshair stays so."""
        before, self._ruler = self._ruler, ruler
        self._extent = self._measured(self._reported)
        if before.kind != ruler.kind:
            shown = self._window
            start, end = (ruler.place(before.second(place)) for place in (shown.start, shown.end))
            self.show_all() if shown.whole else self.zoom(start, end)
            self.ruler_changed.emit()

    def zoom(self, start: float, end: float) -> None:
        """Show from the place `start` to the place `end`."""
        self._show(zoomed(start, end, self._extent))

    def zoom_about(self, centre: float, factor: float) -> None:
        """Show `factor` times as much, with `centre` where it is."""
        self._show(zoomed_about(self._window, centre, factor, self._extent))

    def pan(self, by: float) -> None:
        """Show what lies `by` later."""
        self._show(panned(self._window, by, self._extent))

    def pan_share(self, share: float) -> None:
        """Show what lies later by this share of what is shown."""
        self.pan(share * self._window.span)

    def show_all(self) -> None:
        """Show all of the run."""
        self._show(whole(self._extent))

    def set_follow(self, follow: bool) -> None:
        """Keep the newest in view, or stay where one is."""
        self._show(followed(self._window, follow, self._extent))

    def move_cursor(self, time: float | None) -> None:
        """Put the crosshair at this moment of the run, or take it away."""
        if time is not None:
            time = min(max(time, self._reported.begin), self._reported.duration)
        if time != self._cursor:
            self._cursor = time
            self.cursor_changed.emit()

    def point_at(self, place: float) -> None:
        """Put the crosshair at this place of the axis."""
        self.move_cursor(self._ruler.second(place))

    def nudge_cursor(self, steps: int) -> None:
        """Move the crosshair by hundredths of what is shown.

        Where there is none, put it at the newest.
        """
        window = self._window
        here = self._extent.duration if self._cursor is None else self._ruler.place(self._cursor)
        self.point_at(min(max(here + steps * _NUDGE * window.span, window.start), window.end))

    def point_at_edge(self, *, last: bool) -> None:
        """Put the crosshair at the first or the last that is shown of the run."""
        window = self._window
        self.point_at(min(window.end, self._extent.duration) if last else window.start)

    def _measured(self, extent: Extent) -> Extent:
        ruler = self._ruler
        begin = ruler.place(extent.begin) if extent.begin < 0 else 0.0
        return Extent(ruler.place(extent.duration), extent.live, ruler.least, min(begin, 0.0))

    def _show(self, window: TimeWindow, *, chosen: bool = True) -> None:
        before, self._window = self._window, window
        if (before.start, before.end) != (window.start, window.end):
            self.window_changed.emit()
            (self.window_chosen if chosen else self.window_followed).emit()
        if before.follow != window.follow:
            self.follow_changed.emit(window.follow)
