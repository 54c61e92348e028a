"""The plots of a run's training: its loss and its metrics.

The loss is drawn of each step, smoothed, and on the validation data; a metric on the training
and the validation data, at the end of each epoch.
"""

from __future__ import annotations

import math
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QComboBox, QMenu, QSlider, QWidget, QWidgetAction

from gpu_studio.common import figures
from gpu_studio.common.figures import metric_label, metric_names, output_of
from gpu_studio.runs.reading.history import History
from gpu_studio.ui.kit import GRID, ChoiceOption, OptionButton, ThemeManager, Tokens, mix
from gpu_studio.ui.kit.plots.axes import LINEAR, LOG
from gpu_studio.ui.kit.plots.curve import Style
from gpu_studio.ui.kit.plots.legend import LegendEntry
from gpu_studio.ui.kit.plots.time_plot import TimePlot
from gpu_studio.ui.kit.plots.time_view import TimeView
from gpu_studio.ui.kit.settings import Setting, Settings
from gpu_studio.ui.train.earlier import Earlier
from gpu_studio.ui.train.plot_header import remember_hidden

MOST_SMOOTHING: Final = 0.99
USUAL_SMOOTHING: Final = (0.0, 0.3, 0.6, 0.9, 0.97, 0.99)
_HUNDREDTHS = 100


class SmoothingOption(OptionButton):
    """Shows the weight, from 0 (not smoothed) to 0.99. `chosen` is the user's choice."""

    chosen = Signal(float)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("", theme, "How much the curve of the steps is smoothed", parent)
        self.slider = _slider()
        self.slider.valueChanged.connect(lambda value: self.chosen.emit(value / _HUNDREDTHS))
        self.set_menu(self._weights())

    def show_weight(self, weight: float) -> None:
        """Show this weight, without firing `chosen`."""
        self.slider.blockSignals(True)
        self.slider.setValue(round(weight * _HUNDREDTHS))
        self.slider.blockSignals(False)
        self.set_text(f"smooth {weight:g}" if weight else "not smoothed")

    def _weights(self) -> QMenu:
        menu = QMenu("Smoothing", self)
        sliding = QWidgetAction(menu)
        sliding.setDefaultWidget(self.slider)
        menu.addAction(sliding)
        menu.addSeparator()
        for weight in USUAL_SMOOTHING:
            action = menu.addAction(f"{weight:g}" if weight else "none")
            action.triggered.connect(lambda _=False, weight=weight: self.chosen.emit(weight))
        return menu


def _slider() -> QSlider:
    slider = QSlider(Qt.Orientation.Horizontal)
    slider.setRange(0, round(MOST_SMOOTHING * _HUNDREDTHS))
    slider.setPageStep(10)
    slider.setAccessibleName("Smoothing, in hundredths")
    slider.setContentsMargins(GRID, 0, GRID, 0)
    slider.setMinimumSize(QSize(18 * GRID, 4 * GRID))
    return slider


SMOOTHING = Setting(
    "train/smoothing", "0.6", "How much the curve of the loss is smoothed: from 0 to 0.99."
)
LOGARITHMIC = Setting(
    "train/logarithmic", "no", "Whether the axis of the loss is logarithmic: yes or no."
)
HIDDEN_LOSSES: Setting[tuple[str, ...]] = Setting(
    "train/hidden-losses", (), "Curves of the loss that are hidden."
)
_FAINT, _MUTED = 0.32, 0.55
EARLIER, EARLIER_VALIDATION = "earlier run", "earlier validation"
"""What the curves of the runs are called that this one goes on from.

The first stands in the legend, for both.
"""
NO_STEP = "No step has ended yet"
NEVER = "The run ended before its first step"
NO_STEP_IN_SIGHT = "No step lies in this part of the run"


def _train(tokens: Tokens) -> str:
    return tokens.accent


def _faint(tokens: Tokens) -> str:
    return mix(tokens.accent, tokens.surface, _FAINT)


def validation(tokens: Tokens) -> str:
    """The colour of everything measured on the validation data."""
    return tokens.devices[1]


def muted(tokens: Tokens) -> str:
    """The colour of the training of earlier runs."""
    return mix(tokens.muted, tokens.surface, _MUTED)


def muted_validation(tokens: Tokens) -> str:
    """The colour of what earlier runs measured on the validation data."""
    return mix(validation(tokens), tokens.surface, _MUTED)


STEPS, TRAIN, VALIDATION = Style(_faint), Style(_train), Style(validation, dots=True)
BEFORE, BEFORE_VALIDATION = Style(muted), Style(muted_validation, dots=True)


class LossPlot(TimePlot):
    """Loss over time, with options for its scale, smoothing and axis, and for following.

    `axis` offers what is counted along the axis of all plots. What is chosen here is remembered in
    `settings`.
    """

    def __init__(
        self,
        theme: ThemeManager,
        time: TimeView,
        settings: Settings | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Loss", theme, time, parent, nothing=NO_STEP)
        self._settings = settings
        self._earlier_offered = False
        steps, self._smoothed = self.add_curve("steps", STEPS), self.add_curve("train", TRAIN)
        self.add_curve("validation", VALIDATION)
        self._before = self.add_curve(EARLIER, BEFORE)
        self.add_curve(EARLIER_VALIDATION, BEFORE_VALIDATION)
        for curve in (steps, self._smoothed, self._before):
            curve.breaks = curve.forgives_the_start = True
        self.belong("steps", "train")
        self.belong(EARLIER_VALIDATION, "validation")
        self.head("steps", "loss")
        self.head("validation", "val_loss")
        remember_hidden(self, HIDDEN_LOSSES, settings)
        self.log = OptionButton.switch("log", theme, "Logarithmic axis for the loss")
        self.smoothing = SmoothingOption(theme)
        self.axis = ChoiceOption(theme, "What the plots count along their axis")
        self.all = OptionButton(
            "show all", theme, "Only a part is shown: show the whole run (0, or a double click)"
        )
        self.follow = OptionButton.switch("follow", theme, "Keep the newest in view", on=True)
        self._offer_options()
        self._connect_options()
        self.log.setChecked(self._remembered(LOGARITHMIC) == "yes")
        self.set_smoothing(_weight(self._remembered(SMOOTHING)))

    def _offer_options(self) -> None:
        self.options.addStretch(1)
        for option in (self.all, self.log, self.smoothing, self.axis, self.follow):
            self.options.addWidget(option)
        self.all.hide()

    def _connect_options(self) -> None:
        time = self._time
        self.log.toggled.connect(self._set_log)
        self.smoothing.chosen.connect(self.choose_smoothing)
        self.all.clicked.connect(time.show_all)
        self.follow.clicked.connect(time.set_follow)
        time.follow_changed.connect(self.follow.setChecked)
        time.window_changed.connect(lambda: self.all.setVisible(not time.window.whole))

    def show_steps(self, history: History) -> None:
        """Have the curves of the steps follow the run's losses."""
        if history.started is not None:
            for name in ("steps", "train"):
                self.feed_series(name, history.losses, history.started.time)

    def show_epochs(self, history: History) -> None:
        """Feed the curve of the validation data."""
        if history.started is not None:
            losses = history.epochs.metric("val_loss")
            self.feed("validation", history.epochs.times, losses, history.started.time)

    def show_earlier(self, earlier: Earlier | None, *, offered: bool) -> None:
        """Feed the curves of the training before the run's start, if it is shown.

        `offered` names it.
        """
        self._earlier_offered = offered
        if earlier is None:
            for name in (EARLIER, EARLIER_VALIDATION):
                self.curve_called(name).forget()
            return
        before, epochs = earlier.seconds, earlier.history.epochs
        self.feed_series(EARLIER, earlier.history.losses, before)
        self.feed(EARLIER_VALIDATION, epochs.times, epochs.metric("val_loss"), before)

    def show_state(self, history: History) -> None:
        """Show a message where no step is drawn."""
        self.canvas.set_nothing(
            NO_STEP_IN_SIGHT if len(history.losses) else NEVER if history.ended else NO_STEP
        )
        self.draw_soon()

    def name_curves(self, history: History) -> None:
        """Show the newest values."""
        entries = [
            LegendEntry("train", TRAIN, figures.metric(history.loss) if len(history.losses) else "")
        ]
        last = history.epochs.last
        if last is not None and "val_loss" in last.metrics:
            entries.append(
                LegendEntry("validation", VALIDATION, figures.metric(last.metrics["val_loss"]))
            )
        if self._earlier_offered:
            entries.append(LegendEntry(EARLIER, BEFORE))
        self.set_legend(entries)

    def set_smoothing(self, weight: float) -> None:
        """Smooth the curve of the steps by this weight, from 0 (not at all) to 0.99."""
        self._smoothed.smoothing = self._before.smoothing = weight
        self.smoothing.show_weight(weight)
        self.draw_soon()

    def choose_smoothing(self, weight: float) -> None:
        """Set the smoothing weight and remember it."""
        self.set_smoothing(weight)
        self._remember(SMOOTHING, f"{weight:g}")

    def _set_log(self, on: bool) -> None:
        self.canvas.set_scale(LOG if on else LINEAR)
        self._remember(LOGARITHMIC, "yes" if on else "no")
        self.draw_soon()

    def _remembered(self, setting: Setting[str]) -> str:
        return self._settings.get(setting) if self._settings else setting.default

    def _remember(self, setting: Setting[str], value: str) -> None:
        if self._settings is not None:
            self._settings.set(setting, value)


def _weight(text: str) -> float:
    """Return a valid weight from a settings file that the user may have edited."""
    try:
        weight = float(text)
    except ValueError:
        weight = float(SMOOTHING.default)
    return (
        min(max(weight, 0.0), MOST_SMOOTHING) if math.isfinite(weight) else float(SMOOTHING.default)
    )


HIDDEN_METRICS: Setting[tuple[str, ...]] = Setting(
    "train/hidden-metrics", (), "Curves of a metric that are hidden."
)
_TRAIN_EPOCHS = Style(_train, dots=True)
_EARLIER_EPOCHS = {
    "train": Style(muted, dots=True),
    "validation": Style(muted_validation, dots=True),
}


class MetricPlot(TimePlot):
    """One metric over time. If the run has several, the header offers a choice."""

    metric_changed = Signal()

    def __init__(
        self,
        theme: ThemeManager,
        time: TimeView,
        settings: Settings | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Metric", theme, time, parent, nothing="no end of an epoch in view")
        self.add_curve("train", _TRAIN_EPOCHS)
        self.add_curve("validation", VALIDATION)
        for name, style in _EARLIER_EPOCHS.items():
            self.add_curve(f"earlier {name}", style)
            self.belong(f"earlier {name}", name)
        remember_hidden(self, HIDDEN_METRICS, settings)
        self._history: History | None = None
        self._earlier: Earlier | None = None
        self.choice = QComboBox()
        self.choice.setAccessibleName("Metric that is shown")
        self.choice.currentIndexChanged.connect(self._chosen)
        self.options.addStretch(1)
        self.options.addWidget(self.choice)
        self.choice.hide()

    @property
    def chosen(self) -> str | None:
        """The name of the metric that is shown, without `val_`; None if the run has none."""
        name = self.choice.currentData()
        return str(name) if name is not None else None

    def show_epochs(self, history: History) -> None:
        """Feed the curves with the finished epochs, and show their newest values."""
        self._history = history
        self._offer(metric_names(history.epochs.metrics))
        metric = self.chosen
        if history.started is None or metric is None:
            return
        self.head("train", metric)
        self.head("validation", f"val_{metric}")
        times, start = history.epochs.times, history.started.time
        self.feed("train", times, history.epochs.metric(metric), start)
        self.feed("validation", times, history.epochs.metric(f"val_{metric}"), start)
        self._feed_earlier()
        self._name_curves(history.epochs.rows[-1].metrics, metric)

    def show_earlier(self, earlier: Earlier | None) -> None:
        """Feed the curves of the training before the run's start; None empties them."""
        self._earlier = earlier
        self._feed_earlier()

    def _feed_earlier(self) -> None:
        for name, metric in (("train", self.chosen), ("validation", f"val_{self.chosen}")):
            curve = f"earlier {name}"
            if self._earlier is None or metric is None:
                self.curve_called(curve).forget()
            else:
                epochs = self._earlier.history.epochs
                self.feed(curve, epochs.times, epochs.metric(metric), self._earlier.seconds)

    def _name_curves(self, last: dict[str, float | None], metric: str) -> None:
        named = (("train", _TRAIN_EPOCHS, metric), ("validation", VALIDATION, f"val_{metric}"))
        self.set_legend(
            [
                LegendEntry(name, style, figures.metric(last[key]))
                for name, style, key in named
                if key in last
            ]
        )

    def _offer(self, names: list[str]) -> None:
        offered = [self.choice.itemData(index) for index in range(self.choice.count())]
        if names == [name for name in offered if name is not None]:
            return
        before = self.chosen
        self.choice.blockSignals(True)
        self.choice.clear()
        for place, name in enumerate(names):
            if place and output_of(name, names) != output_of(names[place - 1], names):
                self.choice.insertSeparator(self.choice.count())
            self.choice.addItem(metric_label(name, names), name)
        self.choice.setCurrentIndex(self.choice.findData(before) if before in names else 0)
        self.choice.blockSignals(False)
        self.choice.setVisible(len(names) > 1)
        self._retitle()

    def _retitle(self) -> None:
        metric = self.chosen
        self.set_title(self.choice.currentText().capitalize() if metric else "Metric")
        self.explain(metric)

    def _chosen(self) -> None:
        self._retitle()
        if self._history is not None:
            self.show_epochs(self._history)
            self.draw_soon()
        self.metric_changed.emit()
