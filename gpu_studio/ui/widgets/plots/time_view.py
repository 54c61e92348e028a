"""What several plots share: the part of time that they show, and the moment under the crosshair."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from gpu_studio.ui.widgets.plots import time_window
from gpu_studio.ui.widgets.plots.ruler import TIME, Ruler
from gpu_studio.ui.widgets.plots.time_window import Extent, TimeWindow

_NUDGE = 0.01


class TimeView(QObject):
    """One axis for several plots. Moments are seconds after the run's start; the window is in what the ruler counts.

    With the usual ruler that is seconds too.
    """

    window_changed = Signal()
    ruler_changed = Signal()
    cursor_changed = Signal()
    follow_changed = Signal(bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._told = self._extent = Extent()
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
        self._told = self._extent = Extent()
        self.show_all()
        self.move_cursor(None)

    def set_extent(self, extent: Extent) -> None:
        """The run has become this many seconds long, and this is what is known from before it."""
        self._told = extent
        self._extent = self._measured(extent)
        self._show(time_window.grown(self._window, self._extent))

    def set_ruler(self, ruler: Ruler) -> None:
        """Count in this from now on: what was shown and under the crosshair stays so."""
        before, self._ruler = self._ruler, ruler
        self._extent = self._measured(self._told)
        if before.kind != ruler.kind:
            shown = self._window
            start, end = (ruler.place(before.second(place)) for place in (shown.start, shown.end))
            self.show_all() if shown.whole else self.zoom(start, end)
            self.ruler_changed.emit()

    def zoom(self, start: float, end: float) -> None:
        """Show from the place `start` to the place `end`."""
        self._show(time_window.zoomed(start, end, self._extent))

    def zoom_about(self, centre: float, factor: float) -> None:
        """Show `factor` times as much, with `centre` where it is."""
        self._show(time_window.zoomed_about(self._window, centre, factor, self._extent))

    def pan(self, by: float) -> None:
        """Show what lies `by` later."""
        self._show(time_window.panned(self._window, by, self._extent))

    def pan_share(self, share: float) -> None:
        """Show what lies later by this share of what is shown."""
        self.pan(share * self._window.span)

    def show_all(self) -> None:
        """Show all of the run."""
        self._show(time_window.whole(self._extent))

    def set_follow(self, follow: bool) -> None:
        """Keep the newest in sight, or stay where one is."""
        self._show(time_window.followed(self._window, follow, self._extent))

    def move_cursor(self, time: float | None) -> None:
        """Put the crosshair at this moment of the run, or take it away."""
        if time is not None:
            time = min(max(time, self._told.begin), self._told.duration)
        if time != self._cursor:
            self._cursor = time
            self.cursor_changed.emit()

    def point_at(self, place: float) -> None:
        """Put the crosshair at this place of the axis."""
        self.move_cursor(self._ruler.second(place))

    def nudge_cursor(self, steps: int) -> None:
        """Move the crosshair by hundredths of what is shown; where there is none, put it at the newest."""
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

    def _show(self, window: TimeWindow) -> None:
        before, self._window = self._window, window
        if (before.start, before.end) != (window.start, window.end):
            self.window_changed.emit()
        if before.follow != window.follow:
            self.follow_changed.emit(window.follow)
