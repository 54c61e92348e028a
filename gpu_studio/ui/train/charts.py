"""The stacked plots of a run over one axis; they scroll where they would be too low to read."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np
from PySide6.QtCore import QElapsedTimer, QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from gpu_studio.runs.reading.history import History
from gpu_studio.ui.kit import Scrolled, ThemeManager
from gpu_studio.ui.kit.plots.axes import TIME, AxisKind, Ruler, StepClock, StepRuler, TrainingTime
from gpu_studio.ui.kit.plots.time_plot import TimePlot
from gpu_studio.ui.kit.plots.time_view import Extent, TimeView
from gpu_studio.ui.kit.settings import Setting, Settings
from gpu_studio.ui.train.close_up import CloseUp
from gpu_studio.ui.train.device_plot import DevicePlot
from gpu_studio.ui.train.earlier import Earlier, EarlierReader
from gpu_studio.ui.train.live_run import LiveRun
from gpu_studio.ui.train.marks import marks, marks_version, pauses, throttled
from gpu_studio.ui.train.plot_files import PlotFiles
from gpu_studio.ui.train.plot_header import add_menu
from gpu_studio.ui.train.training_plots import EARLIER, LossPlot, MetricPlot


class TrainingClock:
    """Gives the ruler of a run as it is now: the same one as long as it counts the same."""

    def __init__(self) -> None:
        self._of: object = None
        self._ruler = TIME

    def ruler(self, history: History, *, earlier: bool = False) -> Ruler:
        """Count from the first step on, without pauses; before the first step, every second.

        If something `earlier` is shown before the run's start, the time from there to the first
        step is a pause.
        """
        if history.started is None or not len(history.losses):
            return TIME
        first = float(history.losses.column("time")[0]) - history.started.time
        held = [(span.start, span.end) for span in pauses(history) if span.end > first]
        if held and history.state == "paused":
            held[-1] = held[-1][0], math.inf
        held = [(max(begin, first), end) for begin, end in held]
        if earlier:
            first, held = 0.0, [(0.0, first), *held]
        found = first, tuple(held)
        if found != self._of:
            begins, ends = np.array(held, dtype=np.float64).reshape(-1, 2).T
            self._of, self._ruler = found, TrainingTime(first=first, begins=begins, ends=ends)
        return self._ruler


TICK_MS: Final = 100
AXES: Final[dict[AxisKind, str]] = {"step": "by step", "epoch": "by epoch", "time": "by time"}
AXIS = Setting(
    "train/axis", "step", "What the plots of a run count along their axis: time, step or epoch."
)
TALL: Final = 660
"""Pixels from which on four plots under each other can be read."""
READING: Final = "reading every step here…"
_BETWEEN = 12
_LEAST, _LEAST_METRIC = 78, 66
"""How high in pixels the drawn part of a plot is at the least."""
_ONE = 150
_LONGEST_MS = 2


class Charts(Scrolled):
    """Loss, metric and devices of one run.

    `refresh` draws what has changed since the last time, and nothing else. Of a run that they
    `follow` the plots do so ten times a second, and `ticked` says each time whether one was drawn.

    `axis_changed` brings what is counted along the axis from now on; the choice is remembered in
    `settings`. `copy_asked` says that the values at the crosshair shall be copied. `files` copies
    and saves the plots. Where there is space for it, a second plot of the devices shows another of
    their figures. Before the first step of a run that was resumed lies what the `earlier` runs had
    trained, unless that is hidden.
    """

    axis_changed = Signal(str)
    ticked = Signal(bool)
    copy_asked = Signal()

    def __init__(
        self, theme: ThemeManager, settings: Settings | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._settings = settings
        self.time = TimeView(self)
        self.loss = LossPlot(theme, self.time, settings)
        self.metrics = MetricPlot(theme, self.time, settings)
        self.devices = DevicePlot(theme, self.time, settings)
        self.second = DevicePlot(
            theme, self.time, settings, first="utilisation", name="second figure of the devices"
        )
        self.device_plots = (self.devices, self.second)
        self._shown: dict[str, object] = {}
        self._clock, self._training = StepClock(), TrainingClock()
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self.tick)
        self._turn = 0
        self._undrawn: list[TimePlot] = []
        self._soon = QTimer(self)
        self._soon.timeout.connect(self._draw_next)
        self.run: LiveRun | None = None
        self.close_up: CloseUp | None = None
        self.earlier_runs: EarlierReader | None = None
        self._axis = _known(settings.get(AXIS) if settings else AXIS.default)
        self.files = PlotFiles(self.time, lambda: self.run, settings, self)
        self._lay_out(theme)
        self.time.window_changed.connect(self._look_closer)
        self.time.window_followed.connect(self.draw_in_turns)
        self._entered: TimePlot = self.loss
        self.loss.axis.set_choices(
            {str(kind): words for kind, words in AXES.items()}, self._axis, self.set_axis
        )
        self.metrics.hide()
        self.second.hide()

    def _lay_out(self, theme: ThemeManager) -> None:
        column = self.column
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(_BETWEEN)
        named = (
            (self.loss, "loss"),
            (self.metrics, "metric"),
            *((plot, plot.name) for plot in self.device_plots),
        )
        for plot, name in named:
            column.addWidget(plot, 5 if plot is self.metrics else 6)
            plot.canvas.setMinimumHeight(_LEAST_METRIC if plot is self.metrics else _LEAST)
            add_menu(plot, name, self.files, self.time, theme)
            plot.canvas.entered.connect(lambda plot=plot: self._enter(plot))
            plot.canvas.copy_asked.connect(self.copy_asked)
        for inside in self.findChildren(QWidget):
            if inside.focusPolicy() & Qt.FocusPolicy.TabFocus:
                inside.installEventFilter(self)
        self.devices.canvas.show_times(True)
        self.second.canvas.show_times(True)
        for one, other in (self.device_plots, self.device_plots[::-1]):
            one.legend.hidden_changed.connect(
                lambda one=one, other=other: other.legend.adopt(one.legend.hidden)
            )
        self.loss.legend.hidden_changed.connect(self._show_near)

    @property
    def plots(self) -> tuple[TimePlot, ...]:
        """The plots that fit, from the top."""
        return (self.loss, self.metrics, self.devices, *((self.second,) if self.tall else ()))

    @property
    def redraws(self) -> int:
        """How often a plot was drawn."""
        return sum(plot.redraws for plot in self.plots)

    @property
    def drawing(self) -> bool:
        """Whether some of the plots are still to be drawn in turns."""
        return bool(self._undrawn)

    @property
    def tall(self) -> bool:
        """Whether a second plot of the devices fits."""
        return self.height() >= TALL

    @property
    def entered(self) -> TimePlot:
        """The plot that the user used last, if it is visible."""
        return self._entered if self._entered.isVisible() else self.loss

    @property
    def axis(self) -> AxisKind:
        """The quantity along the axis."""
        return self._axis

    @property
    def earlier(self) -> Earlier | None:
        """The training before the run, if the run resumes another one.

        None while it is being read, or if it is hidden.
        """
        return (
            None
            if self.earlier_runs is None or EARLIER in self.loss.legend.hidden
            else self.earlier_runs.found
        )

    def set_axis(self, axis: str) -> None:
        """Set the axis of all plots to time, steps or epochs.

        It is remembered for other windows.
        """
        self._axis = _known(axis)
        if self._settings is not None:
            self._settings.set(AXIS, self._axis)
        self.loss.axis.show_choice(self._axis)
        if self.run is not None:
            self._rule(self.run.history)
        self.axis_changed.emit(self._axis)

    def restart(self) -> None:
        """Forget the run that was shown."""
        self._shown.clear()
        self._undrawn.clear()
        if self.close_up is not None:
            self.close_up.close()
            self.close_up.deleteLater()
        if self.earlier_runs is not None:
            self.earlier_runs.close()
            self.earlier_runs.deleteLater()
        self.run = self.close_up = self.earlier_runs = None
        self._clock, self._training = StepClock(), TrainingClock()
        self.time.restart()
        for plot in self.device_plots:
            plot.restart()
        self.loss.forget()
        self.metrics.forget()
        self.metrics.hide()

    @property
    def following(self) -> bool:
        """Whether what is new is drawn as it comes."""
        return self._timer.isActive()

    def follow(self, run: LiveRun) -> None:
        """Draw what is new in the run from now on."""
        self.run = run
        self._timer.start()

    def rest(self) -> None:
        """Follow no longer."""
        self._timer.stop()

    def tick(self) -> None:
        """Draw what has come since the last tick, and say whether a plot was drawn."""
        if self.run is not None:
            drawn = self.redraws
            self.refresh(self.run)
            self.ticked.emit(self.redraws != drawn or self.drawing)

    def refresh(self, run: LiveRun) -> None:
        """Draw what is new in the run."""
        history, self.run = run.history, run
        near = self._close_up_of(run).revision
        self.loss.follow.setVisible(run.live)
        found, earlier = self._earlier_of(run), self.earlier
        axis = history.losses.total, near, self._axis, history.model is None, history.state, earlier
        if self._is_new("axis", axis):
            self._rule(history)
        if self._is_new("state", (bool(history.losses.total), history.state)):
            self.loss.show_state(history)
        begin = -earlier.seconds if earlier is not None else 0.0
        self.time.set_extent(Extent(history.seconds or 0.0, run.live, begin=begin))
        self._look_closer()
        if self._is_new("steps", (history.losses, history.started)):
            self.loss.show_steps(history)
        if self._is_new("epochs", (len(history.epochs), history.epochs.last)):
            self.loss.show_epochs(history)
            self.metrics.show_epochs(history)
            self.metrics.setVisible(self.metrics.chosen is not None)
        if self._is_new("earlier", (found, earlier)):
            self.loss.show_earlier(earlier, offered=found is not None)
            self.loss.name_curves(history)
            self.metrics.show_earlier(earlier)
        if self._is_new("devices", (self.tall, near, *_devices_version(run))):
            for plot in self.device_plots if self.tall else (self.devices,):
                plot.show_devices(history, run.record)
        self._refresh_marks(run)
        self._take_turns()

    def draw(self) -> None:
        """Draw at once, regardless of the last time."""
        for plot in self.plots:
            plot.draw_soon()

    def draw_in_turns(self) -> None:
        """The same, but each plot in a turn of the event loop of its own.

        All of a long run at once would keep the window from answering. What waits already is drawn
        first.
        """
        self._undrawn += [plot for plot in self.plots if plot not in self._undrawn]
        self._soon.start()

    def _draw_next(self) -> None:
        if self._undrawn:
            self._undrawn.pop(0).draw_soon()
        if not self._undrawn:
            self._soon.stop()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Show the second plot of the devices if it fits."""
        super().resizeEvent(event)
        if self.tall == self.second.isHidden():
            self.second.setVisible(self.tall)
            self.devices.canvas.show_times(not self.tall)
            if self.run is not None:
                self.refresh(self.run)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Scroll to what Tab reaches, also from outside the plots, where Qt does not."""
        if (
            isinstance(event, QFocusEvent)
            and event.gotFocus()
            and isinstance(watched, QWidget)
            and _by_key(event)
        ):
            self.ensureWidgetVisible(watched)
        return super().eventFilter(watched, event)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Space for one plot: the others are reached by scrolling."""
        return QSize(self.column.minimumSize().width(), _ONE)

    def texts_at_cursor(self) -> list[str]:
        """Return in words what is marked at the crosshair; nothing without one."""
        cursor, backdrop = self.time.cursor, self.devices.canvas.backdrop
        return (
            []
            if cursor is None
            else backdrop.texts_at(backdrop.x_of(self.time.ruler.place(cursor)))
        )

    def _earlier_of(self, run: LiveRun) -> Earlier | None:
        started = run.history.started
        if self.earlier_runs is None and started is not None and started.from_step:
            self.earlier_runs = EarlierReader(run.run, self)
            self.earlier_runs.changed.connect(self._show_near)
        return None if self.earlier_runs is None else self.earlier_runs.found

    def _close_up_of(self, run: LiveRun) -> CloseUp:
        if self.close_up is None:
            self.close_up = CloseUp(run, self)
            self.close_up.changed.connect(self._show_near)
            self.close_up.waits.connect(
                lambda waits: self.loss.canvas.set_hint(READING if waits else "")
            )
        return self.close_up

    def _look_closer(self) -> None:
        """Read every point of the visible part if the points were thinned."""
        run = self.run
        if self.close_up is not None and run is not None and run.history.started is not None:
            window, ruler, begun = self.time.window, self.time.ruler, run.history.started.time
            start, end = (
                begun + max(ruler.second(place), 0.0) for place in (window.start, window.end)
            )
            self.close_up.look(start, end)

    def _show_near(self) -> None:
        """Draw the new details at once: the run may have ended, and no tick would draw them."""
        if self.run is not None and self.isVisible():
            self.refresh(self.run)
            self.draw()

    def _enter(self, plot: TimePlot) -> None:
        self._entered = plot

    def _take_turns(self) -> None:
        """Draw what is new, unless all are about to be drawn in turns.

        If that takes long, draw one plot now and the next with the next tick.
        """
        if self.drawing:
            return
        clock = QElapsedTimer()
        clock.start()
        for _ in self.plots:
            self._turn = (self._turn + 1) % len(self.plots)
            self.plots[self._turn].refresh()
            if clock.hasExpired(_LONGEST_MS):
                return

    def _refresh_marks(self, run: LiveRun) -> None:
        if self._is_new("marks", (self.tall, run.reading, marks_version(run.history, run.record))):
            # While a run is being read, not every change is known: a pause might seem to last
            # forever.
            found, paused = (
                marks(run.history, run.record),
                [] if run.reading else pauses(run.history),
            )
            held = throttled(run.history, run.record)
            for above in (self.loss, self.metrics):
                above.canvas.set_marks(found, paused)
            for plot in self.device_plots:
                plot.canvas.set_marks(found, [*paused, *held])
                plot.show_throttled(held if plot is self.plots[-1] else ())

    def _rule(self, history: History) -> None:
        by_time = self._axis == "time"
        earlier = self.earlier
        counted = (
            self._training.ruler(history, earlier=earlier is not None)
            if by_time
            else self._counted(history)
        )
        self.time.set_ruler(counted)

    def _counted(self, history: History) -> Ruler:
        found, earlier = _ruler(self._axis, self._clock, history), self.earlier
        return (
            replace(found, earlier=earlier.clock)
            if earlier and isinstance(found, StepRuler)
            else found
        )

    def _is_new(self, what: str, version: object) -> bool:
        before = self._shown.get(what)
        self._shown[what] = version
        return before != version


def _by_key(event: QFocusEvent) -> bool:
    return event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)


def _known(axis: str) -> AxisKind:
    return next((kind for kind in AXES if kind == axis), "step")


def _ruler(axis: AxisKind, clock: StepClock, history: History) -> Ruler:
    """Return the ruler of a run.

    Until it is known how many steps an epoch has, steps are counted instead of epochs.
    """
    losses, started, model = history.losses, history.started, history.model
    per = float(model.steps_per_epoch or 0) if model is not None and axis == "epoch" else 1.0
    kind: AxisKind = "step" if axis == "epoch" and (model is None or not per) else axis
    origin, first = (started.time, float(started.from_step)) if started is not None else (0.0, 0.0)
    found = clock.ruler(
        kind, losses.column("time"), losses.column("step"), origin, first, per or 1.0
    )
    if losses.near is None or not isinstance(found, StepRuler):
        return found
    return replace(found, near=(losses.near.column("time"), losses.near.column("step")))


def _devices_version(run: LiveRun) -> tuple[object, ...]:
    """Return a value that changes when the devices have news, or will have no more."""
    reported = sum(series.total for series in run.history.memory.values())
    return reported, run.record.revision, run.history.devices is None, run.history.ended
