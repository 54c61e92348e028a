"""Copy or save what is shown of a result: its picture as PNG or SVG, its rows as CSV."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget

from gpu_studio.common.figures import moment, plural
from gpu_studio.common.safe_files import write_output
from gpu_studio.contract import slug
from gpu_studio.lab.benchmark_figures import csv_of
from gpu_studio.lab.benchmarks import BENCHMARKS, BenchmarkResult
from gpu_studio.ui.kit import FileJobs
from gpu_studio.ui.lab.pictures.picture_view import PictureFile

FileKind = Literal["png", "svg", "csv"]
FILTERS: Final[dict[FileKind, str]] = {
    "png": "PNG picture (*.png)",
    "svg": "SVG drawing (*.svg)",
    "csv": "CSV (*.csv)",
}
Draw = Callable[[str], PictureFile | None]
"""Draws the picture that is shown, with this caption below it."""


class ResultFiles(QObject):
    """`reported(text, tone)` says what came of it. Dialogs open over `window`."""

    reported = Signal(str, str)

    def __init__(self, draw: Draw, window: QWidget) -> None:
        super().__init__(window)
        self._draw, self._window = draw, window
        self._jobs = FileJobs(self)
        self._jobs.done.connect(lambda path: self.reported.emit(f"Written: {path}", "plain"))
        self._jobs.failed.connect(self._tell_failure)

    @property
    def busy(self) -> bool:
        """Whether a file is being written."""
        return self._jobs.busy

    def copy_picture(self, result: BenchmarkResult) -> None:
        """Put the picture that is shown on the clipboard."""
        if (picture := self._draw(caption_of(result))) is not None:
            QGuiApplication.clipboard().setImage(picture.image())
            self.reported.emit("The picture is on the clipboard.", "plain")

    def copy_rows(self, result: BenchmarkResult) -> None:
        """Put the rows on the clipboard, in a form for spreadsheets."""
        QGuiApplication.clipboard().setText(csv_of(result, separator="\t"))
        self.reported.emit(f"{plural(len(result.rows), 'row')} are on the clipboard.", "plain")

    def choose_and_save(self, result: BenchmarkResult, kind: FileKind) -> None:
        """Ask for a file, and write the picture or the rows to it."""
        title = "Save rows as CSV" if kind == "csv" else f"Save picture as {kind.upper()}"
        dialog = QFileDialog(self._window, title, str(Path.home()), FILTERS[kind])
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(kind)
        dialog.selectFile(f"{slug(BENCHMARKS[result.benchmark].title)}.{kind}")
        dialog.setAccessibleName(title)
        dialog.fileSelected.connect(lambda name: self.save(result, kind, Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def save(self, result: BenchmarkResult, kind: FileKind, path: Path) -> None:
        """Write the picture or the rows to a file."""
        if kind == "csv":
            data = csv_of(result).encode()
        else:
            picture = self._draw(caption_of(result))
            if picture is None:
                return
            data = picture.png() if kind == "png" else picture.svg()
        self._jobs.start(path, lambda _stop: write_output(path.absolute(), [data]))

    def close(self) -> None:
        """Cancel what is being written, and leave no thread behind."""
        self._jobs.close()

    def _tell_failure(self, path: Path, why: str) -> None:
        words = f"{path} could not be written: {why}. Write it to another place."
        self.reported.emit(words, "bad")


def caption_of(result: BenchmarkResult) -> str:
    """What stands below a picture: what it is of, when and on what it was measured."""
    machine = result.machine
    cards = [name for key, name in machine.items() if key.startswith("GPU ") and key[4:].isdigit()]
    on = cards[0].partition(" (")[0] if cards else machine.get("CPU", "")
    many = f"{len(cards)} × {on}" if len(cards) > 1 else on
    title = BENCHMARKS[result.benchmark].title
    host = machine.get("host", "")
    return " · ".join(filter(None, (title, host, many, moment(result.begun))))
