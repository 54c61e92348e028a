"""A plot on the clipboard, or in a file: as a picture, or as the numbers that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget

from gpu_studio.output_files import write_output
from gpu_studio.runs.directory import slug
from gpu_studio.ui.models.train.live_run import LiveRun
from gpu_studio.ui.models.train.plot_table import Column, PlotTable
from gpu_studio.ui.pages.train.gathering import Gathering
from gpu_studio.ui.settings import Setting, Settings
from gpu_studio.ui.units import plural
from gpu_studio.ui.widgets.plots.picture import Picture
from gpu_studio.ui.widgets.plots.time_plot import TimePlot
from gpu_studio.ui.widgets.plots.time_view import TimeView

Kind = Literal["png", "svg", "csv"]
FILTERS: Final[dict[Kind, str]] = {"png": "PNG picture (*.png)", "svg": "SVG drawing (*.svg)", "csv": "CSV (*.csv)"}
FOLDER = Setting("train/plot-folder", "", "The folder that a plot was saved to last; empty for the home folder.")
MOST_COPIED: Final = 100_000
"""Rows that are put on the clipboard; more would hold up whatever they are pasted into."""
NOTHING: Final = "There is nothing in this plot yet: wait for the first figures, or show all of the run."


class PlotFiles(QObject):
    """Copies and saves plots over one axis. `told(text, tone)` says how that went.

    `run` gives the run that is shown, if there is one.
    """

    told = Signal(str, str)

    def __init__(
        self, time: TimeView, run: Callable[[], LiveRun | None], settings: Settings | None, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._time, self._run, self._settings, self._window = time, run, settings, parent
        self.gathering: Gathering | None = None

    def copy_picture(self, plot: TimePlot) -> None:
        """Put the plot on the clipboard as a picture."""
        QGuiApplication.clipboard().setImage(self._picture(plot).image())
        self.told.emit(f"The plot “{plot.title.text()}” is on the clipboard as a picture.", "plain")

    def copy_data(self, plot: TimePlot) -> None:
        """Put the points in sight on the clipboard, as a spreadsheet takes them."""
        table = self._table(plot)
        rows = 0 if table is None else len(table.moments())
        if table is None or not rows:
            self.told.emit(NOTHING, "bad")
        elif rows > MOST_COPIED:
            many = f"These are {plural(rows, 'row')}, too many for the clipboard."
            self.told.emit(f"{many} Zoom in, or save a CSV file.", "bad")
        else:
            QGuiApplication.clipboard().setText("".join(table.chunks("\t")))
            self.told.emit(f"{plural(rows, 'row')} of “{plot.title.text()}” are on the clipboard.", "plain")

    def choose_and_save(self, plot: TimePlot, kind: Kind) -> None:
        """Ask for a file, and write the plot to it."""
        dialog = QFileDialog(self._window, f"Save plot as {kind.upper()}", self._folder(), FILTERS[kind])
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(kind)
        dialog.selectFile(f"{slug(f'{self._name()} {plot.title.text()}')}.{kind}")
        dialog.setAccessibleName(dialog.windowTitle())
        dialog.fileSelected.connect(lambda name: self.save(plot, kind, Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def save(self, plot: TimePlot, kind: Kind, path: Path) -> None:
        """Write the plot to a file, and remember its folder; if that fails, say why."""
        if self._settings is not None:
            self._settings.set(FOLDER, str(path.absolute().parent))
        if kind == "csv":
            self._save_data(plot, path)
        else:
            picture = self._picture(plot)
            self._write(path, picture.png() if kind == "png" else picture.svg())

    def _save_data(self, plot: TimePlot, path: Path) -> None:
        table = self._table(plot)
        if table is None or not len(table.moments()):
            self.told.emit(NOTHING, "bad")
            return
        # Half a million rows take seconds: they are made a few at a time, so that the window goes on.
        self.gathering = Gathering(_encoded(table), f"Writing {path.name}…", self._window)
        self.gathering.done.connect(lambda data: self._write(path, data))
        self.gathering.start()

    def _write(self, path: Path, data: bytes) -> None:
        try:
            write_output(path.absolute(), [data])
        except OSError as error:
            why = error.strerror or str(error)
            self.told.emit(f"The plot could not be written to {path}: {why}. Write it to another place.", "bad")
            return
        self.told.emit(f"The plot is in {path}.", "plain")

    def _picture(self, plot: TimePlot) -> Picture:
        shown = [entry for entry in plot.legend.entries if entry.name not in plot.legend.hidden]
        return Picture(plot.title.text(), self._caption(), plot.canvas, shown)

    def _caption(self) -> str:
        run = self._run()
        if run is None or run.history.started is None:
            return "GPU Studio"
        begun = datetime.fromtimestamp(run.history.started.time, UTC)
        return f"{run.title} · {run.run.id} · begun {begun:%Y-%m-%d %H:%M:%S} UTC"

    def _table(self, plot: TimePlot) -> PlotTable | None:
        run = self._run()
        if run is None or run.history.started is None:
            return None
        history, window, ruler, begun = run.history, self._time.window, self._time.ruler, run.history.started.time
        columns = [Column(curve.heading, *curve.series) for curve in plot.curves if curve.heading and curve.shown]
        start, end = (begun + ruler.second(place) for place in (window.start, window.end))
        times, steps = history.losses.spliced("time"), history.losses.spliced("step")
        return PlotTable(columns, start, end, times, steps, history.model.steps_per_epoch if history.model else 0)

    def _name(self) -> str:
        run = self._run()
        return run.history.plan if run is not None else ""

    def _folder(self) -> str:
        known = self._settings.get(FOLDER) if self._settings is not None else ""
        return known if known and Path(known).is_dir() else str(Path.home())


def _encoded(table: PlotTable) -> Iterator[bytes]:
    return (chunk.encode() for chunk in table.chunks(","))
