"""What the window writes of the selected runs into files: a report, their numbers, their curves as a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog

from gpu_studio.output_files import write_output
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.ui.control.plan_files import SUFFIX, file_name
from gpu_studio.ui.models.file_job import FileJobs, GivenUpError, Stop, write_lines

if TYPE_CHECKING:
    from gpu_studio.ui.main_window import MainWindow
    from gpu_studio.ui.pages.runs_page import RunsPage

_CSV = {
    "Each epoch (*.csv)": "epochs",
    "Each step (*.csv)": "steps",
    "Memory of the devices (*.csv)": "memory",
    "Cards, as they were recorded (*.csv)": "hardware",
}


class RunExports(QObject):
    """The handlers of the actions that write files. A notice says what is being written, and then where it is."""

    def __init__(self, window: MainWindow, page: RunsPage, parent: QObject) -> None:
        super().__init__(parent)
        self._window = window
        self._page = page
        self._jobs = FileJobs(self)
        self._jobs.done.connect(self._tell)
        self._jobs.failed.connect(lambda text: window.notice.say(text, "bad"))

    def report(self) -> None:
        """Ask for a file, and write the report of the selected runs to it."""
        runs = self._runs()
        if runs:
            dialog = self._dialog("Report", ["Report (*.html)"], "html")
            dialog.fileSelected.connect(lambda name: self.write_report(runs, Path(name)))

    def csv(self) -> None:
        """Ask for a file, and write the numbers of the selected runs to it; of several to one file each."""
        runs = self._runs()
        if runs:
            dialog = self._dialog("Export as CSV", list(_CSV), "csv")
            dialog.fileSelected.connect(
                lambda name: self.write_csv(runs, Path(name), _CSV.get(dialog.selectedNameFilter(), "epochs"))
            )

    def picture(self) -> None:
        """Ask for a file, and write the curves of the selected runs to it, in pixels or in lines."""
        if self._runs():
            dialog = self._dialog("Export curves", ["Picture (*.png)", "Drawing (*.svg)"], "png")
            dialog.filterSelected.connect(lambda name: dialog.setDefaultSuffix("svg" if "svg" in name else "png"))
            dialog.fileSelected.connect(lambda name: self.write_picture(Path(name)))

    def write_report(self, runs: Sequence[RunDirectory], path: Path) -> None:
        """Write the report of these runs."""

        def write(stop: Stop) -> None:
            # Imported when first needed: most windows never write one.
            from gpu_studio.runs.results.report.writing import report
            from gpu_studio.runs.results.run_figures import figures_of

            text = report([figures_of(run) for run in runs if _go_on(stop)])
            write_output(path, [text.encode("utf-8", "replace")])

        self._start("The report is being written…", path, write)

    def write_csv(self, runs: Sequence[RunDirectory], path: Path, what: str) -> None:
        """Write `epochs`, `steps`, `memory` or `hardware` of these runs; of several with their ids in the names."""

        def write(stop: Stop) -> None:
            from gpu_studio.runs.results.exporting import csv_lines

            for run in runs:
                target = path if len(runs) == 1 else path.with_name(f"{path.stem}-{run.id}{path.suffix}")
                write_lines(target, csv_lines(run, what), stop)

        self._start("The numbers are being written…", path if len(runs) == 1 else path.parent, write)

    def write_picture(self, path: Path) -> None:
        """Write the curves as they are on the screen now: as SVG if the file is called so, else as PNG."""
        picture = self._page.outcome.curves.picture(", ".join(run.id for run in self._runs()))
        data = picture.svg() if path.suffix.lower() == ".svg" else picture.png()
        self._start("", path, lambda _stop: write_output(path, [data]))

    def close(self) -> None:
        """Give up what is being written, and leave no thread behind."""
        self._jobs.close()

    def _runs(self) -> list[RunDirectory]:
        return [row.summary.directory for row in self._page.chosen]

    def _start(self, words: str, path: Path, write: Callable[[Stop], None]) -> None:
        if words:
            self._window.notice.say(words, label="Cancel", deed=self._jobs.give_up, stays=True)
        self._jobs.start(path, write)

    def _tell(self, path: Path) -> None:
        url = QUrl.fromLocalFile(str(path))
        self._window.notice.say(f"Written: {path}", label="Open", deed=lambda: self._open(url))

    def _open(self, url: QUrl) -> None:
        if not QDesktopServices.openUrl(url):
            self._window.notice.say(f"Nothing here opens it. It is {url.toLocalFile()}", "warning")

    def _dialog(self, title: str, filters: list[str], suffix: str) -> QFileDialog:
        chosen = self._page.chosen
        name = chosen[0].name if len(chosen) == 1 else f"{len(chosen)} runs"
        dialog = QFileDialog(self._window, title, str(Path.home()))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(filters)
        dialog.setDefaultSuffix(suffix)
        dialog.selectFile(f"{file_name(name).removesuffix(SUFFIX)}.{suffix}")
        dialog.setAccessibleName(title)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog


def _go_on(stop: Stop) -> bool:
    if stop():
        raise GivenUpError
    return True
