"""The plots of a run under each other, on one time axis."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.ui.models.live_run import LiveRun
from gpu_studio.ui.pages.train.device_plot import DevicePlot
from gpu_studio.ui.pages.train.loss_plot import LossPlot
from gpu_studio.ui.pages.train.marks import marks, marks_version
from gpu_studio.ui.pages.train.metric_plot import MetricPlot
from gpu_studio.ui.settings import Settings
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.plots.time_plot import TimePlot
from gpu_studio.ui.widgets.plots.time_view import TimeView
from gpu_studio.ui.widgets.plots.time_window import Extent

_BETWEEN = 12


class Charts(QWidget):
    """Loss, metric and devices of one run. `refresh` draws what has changed since the last time, and nothing else."""

    def __init__(self, theme: ThemeManager, settings: Settings | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.time = TimeView(self)
        self.loss = LossPlot(theme, self.time)
        self.metrics = MetricPlot(theme, self.time)
        self.devices = DevicePlot(theme, self.time, settings)
        self._shown: dict[str, object] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(_BETWEEN)
        for plot, share in zip(self.plots, (6, 5, 6), strict=True):
            column.addWidget(plot, share)
        self.devices.canvas.show_times(True)
        self.metrics.hide()

    @property
    def plots(self) -> tuple[TimePlot, TimePlot, TimePlot]:
        """The plots from the top."""
        return self.loss, self.metrics, self.devices

    def restart(self) -> None:
        """Forget the run that was shown."""
        self._shown.clear()
        self.time.restart()
        self.devices.restart()
        self.loss.forget()
        self.metrics.forget()
        self.metrics.hide()

    def refresh(self, run: LiveRun) -> None:
        """Draw what is new of the run."""
        history = run.history
        self.loss.follow.setVisible(run.live)
        self.time.set_extent(Extent(history.seconds or 0.0, run.live))
        if self._is_new("steps", history.losses.total):
            self.loss.show_steps(history)
        if self._is_new("epochs", len(history.epochs)):
            self.loss.show_epochs(history)
            self.metrics.show_epochs(history)
            self.metrics.setVisible(self.metrics.chosen is not None)
        if self._is_new("devices", _devices_version(run)):
            self.devices.show_devices(history, run.record)
        if self._is_new("marks", marks_version(history)):
            found = marks(history)
            for plot in self.plots:
                plot.canvas.set_marks(found)
        for plot in self.plots:
            plot.refresh()

    def draw(self) -> None:
        """Draw at once, whenever it was drawn last."""
        for plot in self.plots:
            plot.draw_soon()

    def _is_new(self, what: str, version: object) -> bool:
        before = self._shown.get(what)
        self._shown[what] = version
        return before != version


def _devices_version(run: LiveRun) -> tuple[object, ...]:
    """Changes exactly when there is something new of the devices, or of whether more will come."""
    told = sum(series.total for series in run.history.memory.values())
    return told, run.record.revision, run.history.devices is None, run.history.ended
