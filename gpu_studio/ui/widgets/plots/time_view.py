"""What several plots share: the part of time that they show, and the moment under the crosshair."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from gpu_studio.ui.widgets.plots import time_window
from gpu_studio.ui.widgets.plots.time_window import Extent, TimeWindow

_NUDGE = 0.01


class TimeView(QObject):
    """One time axis for several plots. Times are seconds after the run's start."""

    window_changed = Signal()
    cursor_changed = Signal()
    follow_changed = Signal(bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._extent = Extent()
        self._window = TimeWindow()
        self._cursor: float | None = None

    @property
    def window(self) -> TimeWindow:
        """The part of time that is shown."""
        return self._window

    @property
    def extent(self) -> Extent:
        """How long the run has gone, and whether it goes on."""
        return self._extent

    @property
    def cursor(self) -> float | None:
        """The moment under the crosshair; None if there is no crosshair."""
        return self._cursor

    def restart(self) -> None:
        """Show a new run: all of it, without a crosshair."""
        self._extent = Extent()
        self.show_all()
        self.move_cursor(None)

    def set_extent(self, extent: Extent) -> None:
        """The run has become this long."""
        self._extent = extent
        self._show(time_window.grown(self._window, extent))

    def zoom(self, start: float, end: float) -> None:
        """Show from `start` to `end`."""
        self._show(time_window.zoomed(start, end, self._extent))

    def zoom_about(self, centre: float, factor: float) -> None:
        """Show `factor` times as much, with `centre` where it is."""
        self._show(time_window.zoomed_about(self._window, centre, factor, self._extent))

    def pan(self, seconds: float) -> None:
        """Show what lies `seconds` later."""
        self._show(time_window.panned(self._window, seconds, self._extent))

    def show_all(self) -> None:
        """Show all of the run."""
        self._show(time_window.whole(self._extent))

    def set_follow(self, follow: bool) -> None:
        """Keep the newest in sight, or stay where one is."""
        self._show(time_window.followed(self._window, follow, self._extent))

    def move_cursor(self, time: float | None) -> None:
        """Put the crosshair at this moment of the run, or take it away."""
        if time is not None:
            time = min(max(time, 0.0), self._extent.duration)
        if time != self._cursor:
            self._cursor = time
            self.cursor_changed.emit()

    def nudge_cursor(self, steps: int) -> None:
        """Move the crosshair by hundredths of what is shown; where there is none, put it at the newest."""
        window = self._window
        here = self._cursor if self._cursor is not None else self._extent.duration
        self.move_cursor(min(max(here + steps * _NUDGE * window.span, window.start), window.end))

    def _show(self, window: TimeWindow) -> None:
        before, self._window = self._window, window
        if (before.start, before.end) != (window.start, window.end):
            self.window_changed.emit()
        if before.follow != window.follow:
            self.follow_changed.emit(window.follow)
