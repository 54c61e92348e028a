"""The plot of one metric, on the training and the validation data, at the end of each epoch."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QWidget

from gpu_studio.common import figures
from gpu_studio.runs.reading.history import History
from gpu_studio.ui.kit.metric_names import metric_label, metric_names
from gpu_studio.ui.kit.plots.curve import Style
from gpu_studio.ui.kit.plots.gestures import HELP
from gpu_studio.ui.kit.plots.legend import LegendEntry
from gpu_studio.ui.kit.plots.time_plot import TimePlot
from gpu_studio.ui.kit.plots.time_view import TimeView
from gpu_studio.ui.kit.settings import Setting, Settings
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.kit.theme.tokens import Tokens
from gpu_studio.ui.train.earlier import Earlier
from gpu_studio.ui.train.hidden_curves import remember_hidden
from gpu_studio.ui.train.loss_plot import muted, muted_validation, validation


def _train(tokens: Tokens) -> str:
    return tokens.accent


HIDDEN: Setting[tuple[str, ...]] = Setting(
    "train/hidden-metrics", (), "Curves of a metric that are hidden."
)
TRAIN, VALIDATION = Style(_train, dots=True), Style(validation, dots=True)
_EARLIER = {"train": Style(muted, dots=True), "validation": Style(muted_validation, dots=True)}


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
        self.add_curve("train", TRAIN)
        self.add_curve("validation", VALIDATION)
        for name, style in _EARLIER.items():
            self.add_curve(f"earlier {name}", style)
            self.belong(f"earlier {name}", name)
        remember_hidden(self, HIDDEN, settings)
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
        named = (("train", TRAIN, metric), ("validation", VALIDATION, f"val_{metric}"))
        self.set_legend(
            [
                LegendEntry(name, style, figures.metric(last[key]))
                for name, style, key in named
                if key in last
            ]
        )

    def _offer(self, names: list[str]) -> None:
        offered = [self.choice.itemData(index) for index in range(self.choice.count())]
        if names == offered:
            return
        before = self.chosen
        self.choice.blockSignals(True)
        self.choice.clear()
        for name in names:
            self.choice.addItem(metric_label(name, names), name)
        self.choice.setCurrentIndex(names.index(before) if before in names else 0)
        self.choice.blockSignals(False)
        self.choice.setVisible(len(names) > 1)
        self._retitle()

    def _retitle(self) -> None:
        metric = self.chosen
        self.set_title(self.choice.currentText().capitalize() if metric else "Metric")
        self.title.setToolTip(f"{metric}. {HELP}" if metric else HELP)

    def _chosen(self) -> None:
        self._retitle()
        if self._history is not None:
            self.show_epochs(self._history)
            self.draw_soon()
        self.metric_changed.emit()
