"""Copy or save a plot: as a picture, or as the numbers that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QProgressDialog, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.common.safe_files import csv_line
from gpu_studio.contract import slug
from gpu_studio.ui.kit import FileJobs, write_parts
from gpu_studio.ui.kit.plots.time_plot import PlotPicture, TimePlot
from gpu_studio.ui.kit.plots.time_view import TimeView
from gpu_studio.ui.kit.settings import Setting, Settings
from gpu_studio.ui.train.live_run import LiveRun

Array = NDArray[np.float64]
FIRST: Final = ("time", "step", "epoch")
_A_CHUNK: Final = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A curve.

    Its name with the unit, its sorted times in seconds since 1970, shape (points,), and as many
    values.
    """

    name: str
    times: Array
    values: Array


@dataclass(frozen=True, slots=True, eq=False)
class PlotTable:
    """The columns from `start` to `end` (seconds since 1970), with each row's step and epoch.

    `steps` had been trained at `times`, both shape (points,) and sorted; an epoch has `per` of
    them, 0 where that is not known. Of points of one column at one moment the last stands in the
    table.
    """

    columns: Sequence[Column]
    start: float
    end: float
    times: Array
    steps: Array
    per: int

    def moments(self) -> Array:
        """The moment of each row, in seconds since 1970, shape (rows,)."""
        inside = [column.times[self._inside(column)] for column in self.columns]
        return np.unique(np.concatenate(inside)) if inside else np.empty(0)

    def copied(self) -> PlotTable:
        """Return the same table with copied arrays, which nobody changes meanwhile."""
        columns = [
            Column(each.name, each.times.copy(), each.values.copy()) for each in self.columns
        ]
        return replace(self, columns=columns, times=self.times.copy(), steps=self.steps.copy())

    def chunks(self, separator: str) -> Iterator[str]:
        """Yield the heading, then the rows, some thousands at a time.

        Each line ends in a newline.
        """
        yield f"{csv_line([*FIRST, *(column.name for column in self.columns)], separator)}\n"
        moments = self.moments()
        cells = [self._aligned(column, moments) for column in self.columns]
        for begin in range(0, len(moments), _A_CHUNK):
            part = slice(begin, begin + _A_CHUNK)
            rows = zip(
                *self._counted(moments[part]), *(_texts(*cell, part) for cell in cells), strict=True
            )
            yield "".join(_line(row, separator) for row in rows)

    def _counted(self, moments: Array) -> tuple[list[str], list[str], list[str]]:
        """The time in UTC, the newest step that was trained, and the epoch that it belongs to."""
        clock = np.datetime_as_string(
            (moments * 1e6).round().astype("datetime64[us]"), unit="us", timezone="UTC"
        )
        newest = np.searchsorted(self.times, moments, side="right") - 1
        known = (
            self.steps[newest.clip(0)].astype(np.int64)
            if len(self.steps)
            else np.zeros(len(moments), np.int64)
        )
        steps = np.where(newest >= 0, known, -1).tolist()
        epochs = [
            "" if step < 0 or not self.per else str(max(-(-step // self.per), 1)) for step in steps
        ]
        return clock.tolist(), ["" if step < 0 else str(step) for step in steps], epochs

    def _inside(self, column: Column) -> slice:
        first = np.searchsorted(column.times, self.start, side="left")
        return slice(int(first), int(np.searchsorted(column.times, self.end, side="right")))

    def _aligned(self, column: Column, moments: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return the values of a column at these moments, and which of them exist."""
        inside = self._inside(column)
        rows = np.searchsorted(moments, column.times[inside])
        values, there = np.full(len(moments), np.nan), np.zeros(len(moments), dtype=np.bool_)
        values[rows], there[rows] = column.values[inside], True
        return values, there


def _texts(values: Array, there: NDArray[np.bool_], part: slice) -> list[str]:
    pairs = zip(values[part].tolist(), there[part].tolist(), strict=True)
    return [f"{value:.9g}" if known else "" for value, known in pairs]


def _line(cells: Sequence[str], separator: str) -> str:
    return separator.join(_quoted(cell, separator) for cell in cells) + "\n"


def _quoted(cell: str, separator: str) -> str:
    """Quote as in RFC 4180."""
    return (
        '"' + cell.replace('"', '""') + '"'
        if separator in cell or '"' in cell or "\n" in cell
        else cell
    )


Kind = Literal["png", "svg", "csv"]
FILTERS: Final[dict[Kind, str]] = {
    "png": "PNG picture (*.png)",
    "svg": "SVG drawing (*.svg)",
    "csv": "CSV (*.csv)",
}
FOLDER = Setting(
    "train/plot-folder", "", "The folder that a plot was saved to last; empty for the home folder."
)
MOST_COPIED: Final = 100_000
"""Rows that are put on the clipboard; more would hold up whatever they are pasted into."""
UNSEEN_MS: Final = 200
"""Files that are written within this time need no dialog."""
NOTHING: Final = (
    "There is nothing in this plot yet: wait for the first figures, or show all of the run."
)


class PlotFiles(QObject):
    """Copies and saves plots over one axis. `reported(text, tone)` reports the result.

    `run` returns the run that is shown, if there is one.
    """

    reported = Signal(str, str)

    def __init__(
        self,
        time: TimeView,
        run: Callable[[], LiveRun | None],
        settings: Settings | None,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._time, self._run, self._settings, self._window = time, run, settings, parent
        self._jobs = FileJobs(self)
        self._jobs.done.connect(self._tell)
        self._jobs.failed.connect(self._tell_failure)
        self._dialog: QProgressDialog | None = None
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.timeout.connect(self._show_dialog)
        self._writing = Path()
        if (application := QApplication.instance()) is not None:
            application.aboutToQuit.connect(self._jobs.close)

    @property
    def busy(self) -> bool:
        """Whether a file is being written."""
        return self._jobs.busy

    def copy_picture(self, plot: TimePlot) -> None:
        """Put the plot on the clipboard as a picture."""
        QGuiApplication.clipboard().setImage(self._picture(plot).image())
        self.reported.emit(
            f"The plot “{plot.title.text()}” is on the clipboard as a picture.", "plain"
        )

    def copy_data(self, plot: TimePlot) -> None:
        """Copy the visible points to the clipboard, in a form for spreadsheets."""
        table = self._table(plot)
        rows = 0 if table is None else len(table.moments())
        if table is None or not rows:
            self.reported.emit(NOTHING, "bad")
        elif rows > MOST_COPIED:
            many = f"These are {plural(rows, 'row')}, too many for the clipboard."
            self.reported.emit(f"{many} Zoom in, or save a CSV file.", "bad")
        else:
            QGuiApplication.clipboard().setText("".join(table.chunks("\t")))
            self.reported.emit(
                f"{plural(rows, 'row')} of “{plot.title.text()}” are on the clipboard.", "plain"
            )

    def choose_and_save(self, plot: TimePlot, kind: Kind) -> None:
        """Ask for a file, and write the plot to it."""
        dialog = QFileDialog(
            self._window, f"Save plot as {kind.upper()}", self._folder(), FILTERS[kind]
        )
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
            self._write(path, [picture.png() if kind == "png" else picture.svg()])

    def _save_data(self, plot: TimePlot, path: Path) -> None:
        table = self._table(plot)
        if table is None or not len(table.moments()):
            self.reported.emit(NOTHING, "bad")
        else:
            # Half a million rows take seconds, during which a live run changes the arrays.
            self._write(path, _encoded(table.copied()))

    def _write(self, path: Path, parts: Iterable[bytes]) -> None:
        self._writing = path
        self._jobs.start(path, lambda stop: write_parts(path.absolute(), parts, stop))
        self._patience.start(UNSEEN_MS)

    def _show_dialog(self) -> None:
        if self._dialog is not None:
            return
        words = f"Writing {self._writing.name}…"
        self._dialog = dialog = QProgressDialog("", "Cancel", 0, 0, self._window)
        for label in dialog.findChildren(QLabel):
            label.setTextFormat(Qt.TextFormat.PlainText)  # a name may look like markup
        dialog.setLabelText(words)
        dialog.setWindowModality(Qt.WindowModality.WindowModal)
        dialog.setAccessibleName(words)
        dialog.canceled.connect(self._jobs.cancel)
        dialog.canceled.connect(self._end)
        dialog.show()

    def _tell(self, path: Path) -> None:
        self._end()
        self.reported.emit(f"The plot is in {path}.", "plain")

    def _tell_failure(self, path: Path, why: str) -> None:
        self._end()
        self.reported.emit(
            f"The plot could not be written to {path}: {why}. Write it to another place.", "bad"
        )

    def _end(self) -> None:
        self._patience.stop()
        if self._dialog is not None:
            self._dialog.deleteLater()
            self._dialog = None

    def _picture(self, plot: TimePlot) -> PlotPicture:
        shown = [entry for entry in plot.legend.entries if entry.name not in plot.legend.hidden]
        return PlotPicture(plot.title.text(), self._caption(), plot.canvas, shown)

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
        history, window, ruler, begun = (
            run.history,
            self._time.window,
            self._time.ruler,
            run.history.started.time,
        )
        columns = [
            Column(curve.heading, *curve.series)
            for curve in plot.curves
            if curve.heading and curve.shown
        ]
        start, end = (begun + ruler.second(place) for place in (window.start, window.end))
        times, steps = history.losses.spliced("time"), history.losses.spliced("step")
        model = history.model
        return PlotTable(columns, start, end, times, steps, (model and model.steps_per_epoch) or 0)

    def _name(self) -> str:
        run = self._run()
        return run.history.plan if run is not None else ""

    def _folder(self) -> str:
        known = self._settings.get(FOLDER) if self._settings is not None else ""
        return known if known and Path(known).is_dir() else str(Path.home())


def _encoded(table: PlotTable) -> Iterator[bytes]:
    return (chunk.encode() for chunk in table.chunks(","))
