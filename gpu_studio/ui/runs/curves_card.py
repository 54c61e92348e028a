"""One curve of each selected run, all in one plot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtGui import QActionGroup, QResizeEvent
from PySide6.QtWidgets import QMenu, QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import metric_label
from gpu_studio.runs.lineage import LOSS, Curve
from gpu_studio.runs.reading.series import Array
from gpu_studio.ui.kit import GRID, ChoiceOption, OptionButton, ThemeManager, Tokens
from gpu_studio.ui.kit.plots.axes import LINEAR, LOG, TIME, AxisKind, CountRuler
from gpu_studio.ui.kit.plots.curve import Style
from gpu_studio.ui.kit.plots.legend import BETWEEN, GAPS, SAMPLES, LegendEntry
from gpu_studio.ui.kit.plots.time_plot import PlotPicture, TimePlot
from gpu_studio.ui.kit.plots.time_view import Extent, TimeView
from gpu_studio.ui.kit.settings import RUNS_AXIS, Settings
from gpu_studio.ui.runs.run_rows import short_names

AXES: Final[dict[AxisKind, str]] = {"step": "by step", "epoch": "by epoch", "time": "by time"}
_SMOOTH = 0.6
# The least length of a name, and the length below which the legend gets another line.
_SHORTEST, _READABLE = 6, 20
_LONGEST = 250
"""No plan's name is longer; what a file says may be, and each length is tried."""
_LINES = 3
_A_VALUE = " 0.1234"
_READING = "reading…"


@dataclass(frozen=True, slots=True, eq=False)
class RunCurve:
    """A run's name, colour number, curve (None while it is read) and steps in an epoch."""

    name: str
    number: int
    curve: Curve | None = None
    per_epoch: int | None = None

    def places(self, axis: AxisKind) -> Array:
        """Return the points' positions on an axis of this kind, shape (points,).

        Empty if unknown.
        """
        if self.curve is None or (axis == "epoch" and not self.per_epoch):
            return np.empty(0)
        if axis == "time":
            return self.curve.seconds
        return self.curve.steps if axis == "step" else self.curve.steps / float(self.per_epoch or 1)


class CurvesCard(TimePlot):
    """A plot whose axis counts steps, epochs or time, with a choice of what is drawn.

    `metric_chosen` has its name.
    """

    metric_chosen = Signal(str)

    def __init__(
        self, theme: ThemeManager, settings: Settings, parent: QWidget | None = None
    ) -> None:
        self.view = TimeView()
        super().__init__("Loss", theme, self.view, parent, nothing=_READING)
        self.view.setParent(self)
        self._settings = settings
        self._whole: tuple[RunCurve, ...] = ()
        self._runs: tuple[RunCurve, ...] = ()
        self._metric = ""
        self._offered: tuple[tuple[str, ...], str] = ((), "")
        self._axis: AxisKind = next(
            (kind for kind in AXES if kind == settings.get(RUNS_AXIS)), "step"
        )
        self.metrics = OptionButton("", theme, "Which curve of each run is drawn")
        self._menu = QMenu("Curve", self)
        self.metrics.set_menu(self._menu)
        self.axis = ChoiceOption(theme, "What the axis counts")
        self.axis.set_choices(
            {str(kind): words for kind, words in AXES.items()}, self._axis, self._choose_axis
        )
        self.log = OptionButton.switch("log", theme, "Logarithmic axis for what is drawn")
        self.log.toggled.connect(self._set_log)
        self.smoothing = OptionButton.switch(
            "smooth", theme, "Draw the mean of each few steps", on=True
        )
        self.smoothing.toggled.connect(self._draw_curves)
        self.options.addStretch(1)
        for option in (self.metrics, self.axis, self.log, self.smoothing):
            self.options.addWidget(option)
        self.header.removeWidget(self.legend)
        self.body.insertWidget(1, self.legend)
        self.legend.setMinimumWidth(1)
        self.canvas.show_times(True)
        self.make_switchable()
        self.view.cursor_changed.connect(self._name_curves)

    def offer(self, metrics: Sequence[str], chosen: str) -> None:
        """Offer these metrics, `loss` for that of each step; `chosen` is drawn."""
        self.smoothing.setVisible(chosen == LOSS)
        # Filled only when necessary: it may be open.
        if (tuple(metrics), chosen) == self._offered:
            return
        self._offered = tuple(metrics), chosen
        self._menu.clear()
        group = QActionGroup(self._menu)
        for metric in metrics:
            action = self._menu.addAction(curve_title(metric, metrics))
            action.setCheckable(True)
            action.setChecked(metric == chosen)
            action.triggered.connect(partial(self._choose_metric, metric))
            group.addAction(action)
        self.metrics.setVisible(len(metrics) > 1)
        self.metrics.set_text("curve")
        self._metric = chosen
        self.set_title(curve_title(chosen, metrics))

    def picture(self, caption: str) -> PlotPicture:
        """What is drawn, by the whole names of the runs, for a file."""
        shown = [
            LegendEntry(whole.name, run_style(whole.number))
            for whole, run in zip(self._whole, self._runs, strict=True)
            if run.name not in self.legend.hidden
        ]
        return PlotPicture(self.title.text(), caption, self.canvas, shown)

    def show_runs(self, runs: Sequence[RunCurve]) -> None:
        """Draw the curves of these runs."""
        others = [(run.name, run.number) for run in runs] != [
            (run.name, run.number) for run in self._whole
        ]
        self._whole = tuple(runs)
        self._runs = self._shortened()
        if others:
            self.view.restart()
        self._draw_curves()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Shorten the runs' names to fit."""
        super().resizeEvent(event)
        shortened = self._shortened()
        if [run.name for run in shortened] != [run.name for run in self._runs]:
            self._runs = shortened
            self._draw_curves()

    def _shortened(self) -> tuple[RunCurve, ...]:
        """Return the runs under names that fit into the legend, with values as far as they fit."""
        full = {run.name: run.name for run in self._whole}
        longest = min(max((len(name) for name in full), default=0), _LONGEST)
        enough = min(_READABLE, longest)
        layouts = [
            (lines, most)
            for lines in range(1, _LINES + 1)
            for most in range(longest, enough - 1, -1)
        ]
        for lines, most in (
            *layouts,
            *((_LINES, most) for most in range(enough - 1, _SHORTEST, -1)),
        ):
            names = short_names(full, most)
            if self._fit(names.values(), lines):
                break
        else:
            lines, names = _LINES, short_names(full, _SHORTEST)
        self.legend.set_lines(lines)
        return tuple(replace(run, name=names[run.name]) for run in self._whole)

    def _fit(self, names: Iterable[str], lines: int) -> bool:
        """Return whether these fit into that many lines of the legend."""
        metrics, left, line = self.legend.fontMetrics(), 0, 1
        space = self.width() - 4 * GRID
        for name in names:
            width = SAMPLES[0] + GAPS[0] + metrics.horizontalAdvance(f"{name}{_A_VALUE}")
            if left and left + width > space:
                left, line = 0, line + 1
            if width > space or line > lines:
                return False
            left += width + BETWEEN[0]
        return True

    def _draw_curves(self) -> None:
        self.view.set_ruler(TIME if self._axis == "time" else CountRuler(kind=self._axis))
        places = [run.places(self._axis) for run in self._runs]
        self.view.set_extent(
            Extent(max((float(x[-1]) for x in places if len(x)), default=0.0), live=False)
        )
        self.show_curves({run.name: run_style(run.number) for run in self._runs})
        for run, x in zip(self._runs, places, strict=True):
            if run.curve is not None:
                self.feed(run.name, x, run.curve.values[: len(x)], 0.0)
            smooth = self._metric == LOSS and self.smoothing.isChecked()
            self.curve_called(run.name).smoothing = _SMOOTH if smooth else 0.0
        self.canvas.set_nothing(self._why_nothing())
        self._name_curves()
        self.draw_soon()

    def _why_nothing(self) -> str:
        if any(run.curve is None for run in self._runs):
            return _READING
        drawn = any(len(run.places(self._axis)) for run in self._runs)
        return (
            "Nothing in this part of the axis"
            if drawn
            else "None of these runs has a value of this yet"
        )

    def _name_curves(self) -> None:
        at = None if self.view.cursor is None else self.view.ruler.place(self.view.cursor)
        self.set_legend(
            [
                LegendEntry(run.name, run_style(run.number), self._value(run, at))
                for run in self._runs
            ]
        )

    def _value(self, run: RunCurve, place: float | None) -> str:
        """Return the value under the crosshair: the last one reported by then."""
        x = run.places(self._axis)
        if place is None or run.curve is None or not len(x):
            return ""
        before = int(np.searchsorted(x, place, side="right")) - 1
        return figures.metric(float(run.curve.values[before])) if before >= 0 else ""

    def _choose_metric(self, metric: str, _checked: bool = True) -> None:
        self.metric_chosen.emit(metric)

    def _choose_axis(self, axis: str) -> None:
        self._axis = next(kind for kind in AXES if kind == axis)
        self._settings.set(RUNS_AXIS, self._axis)
        self.axis.show_choice(axis)
        self.view.restart()
        self._draw_curves()

    def _set_log(self, on: bool) -> None:
        self.canvas.set_scale(LOG if on else LINEAR)
        self.draw_soon()


def run_style(number: int) -> Style:
    """Return the line style of the run whose colour has this number."""

    def colour(tokens: Tokens) -> str:
        return tokens.device_colour(number)

    return Style(colour, Tokens.device_dash(number))


def curve_title(metric: str, among: Sequence[str] = ()) -> str:
    """Return a curve's title: `Loss of each step`, `Validation loss`, `Accuracy`."""
    if metric == LOSS:
        return "Loss of each step" if "val_loss" in among else "Loss"
    plain = [name.removeprefix("val_") for name in among]
    words = metric_label(metric.removeprefix("val_"), plain)
    return f"Validation {words}" if metric.startswith("val_") else f"{words[:1].upper()}{words[1:]}"
