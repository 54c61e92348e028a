"""The plot of the loss: of each step, smoothed, and of the validation data."""

from __future__ import annotations

from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from gpu_studio.runs.history import History
from gpu_studio.ui.models import figures
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.palette import mix
from gpu_studio.ui.theme.tokens import Tokens
from gpu_studio.ui.widgets.option import Option
from gpu_studio.ui.widgets.plots.curve import Style
from gpu_studio.ui.widgets.plots.legend import Entry
from gpu_studio.ui.widgets.plots.scale import LINEAR, LOG
from gpu_studio.ui.widgets.plots.time_plot import TimePlot
from gpu_studio.ui.widgets.plots.time_view import TimeView

SMOOTHINGS = (0.0, 0.3, 0.6, 0.9, 0.97)
SMOOTHING = 0.6
_FAINT = 0.32


def _train(tokens: Tokens) -> str:
    return tokens.accent


def _faint(tokens: Tokens) -> str:
    return mix(tokens.accent, tokens.surface, _FAINT)


def validation(tokens: Tokens) -> str:
    """The colour of whatever was measured on the validation data."""
    return tokens.devices[1]


STEPS, TRAIN, VALIDATION = Style(_faint), Style(_train), Style(validation, dots=True)


class LossPlot(TimePlot):
    """Loss over time, with a switch for a logarithmic axis, a choice of smoothing, and a switch to follow."""

    def __init__(self, theme: ThemeManager, time: TimeView, parent: QWidget | None = None) -> None:
        super().__init__("Loss", theme, time, parent, nothing="no step in sight")
        self.add_curve("steps", STEPS)
        self._smoothed = self.add_curve("train", TRAIN)
        self.add_curve("validation", VALIDATION)
        self.log = Option.switch("log", theme, "Logarithmic axis for the loss")
        self.log.toggled.connect(self._set_log)
        self.smoothing = Option("", theme, "How much the curve of the steps is smoothed")
        self.smoothing.set_menu(self._smoothing_menu())
        self.follow = Option.switch("follow", theme, "Keep the newest in sight", on=True)
        self.follow.clicked.connect(time.set_follow)
        time.follow_changed.connect(self.follow.setChecked)
        self.options.addStretch(1)
        for option in (self.log, self.smoothing, self.follow):
            self.options.addWidget(option)
        self.set_smoothing(SMOOTHING)

    def show_steps(self, history: History) -> None:
        """Feed the curves of the steps."""
        if history.started is not None:
            times, losses = history.losses.column("time"), history.losses.column("loss")
            self.feed("steps", times, losses, history.started.time)
            self.feed("train", times, losses, history.started.time)

    def show_epochs(self, history: History) -> None:
        """Feed the curve of the validation data."""
        if history.started is not None:
            losses = history.epochs.metric("val_loss")
            self.feed("validation", history.epochs.times, losses, history.started.time)

    def name_curves(self, history: History) -> None:
        """Show the newest values."""
        entries = [Entry("train", TRAIN, figures.value(history.loss) if len(history.losses) else "")]
        last = history.epochs.last
        if last is not None and "val_loss" in last.metrics:
            entries.append(Entry("validation", VALIDATION, figures.value(last.metrics["val_loss"])))
        self.set_legend(entries)

    def set_smoothing(self, weight: float) -> None:
        """Smooth the curve of the steps by this weight, 0 not at all."""
        self._smoothed.smoothing = weight
        self.smoothing.set_text(f"smooth {weight:g}" if weight else "not smoothed")
        self.draw_soon()

    def _set_log(self, on: bool) -> None:
        self.canvas.set_scale(LOG if on else LINEAR)
        self.draw_soon()

    def _smoothing_menu(self) -> QMenu:
        menu = QMenu("Smoothing", self)
        group = QActionGroup(menu)
        for weight in SMOOTHINGS:
            action = menu.addAction(f"{weight:g}" if weight else "none")
            action.setCheckable(True)
            action.setChecked(weight == SMOOTHING)
            action.triggered.connect(lambda _=False, weight=weight: self.set_smoothing(weight))
            group.addAction(action)
        return menu
