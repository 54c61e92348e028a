"""Write what the Lab page shows of a study into files: a report, its picture, its points."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, Literal

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from gpu_studio.ui.kit import FileJobs, Stop, write_lines, write_parts
from gpu_studio.ui.window.file_notices import tell_of_files
from gpu_studio.ui.window.services import Services
from gpu_studio.ui.window.study_control import StudyControl

Kind = Literal["html", "png", "svg", "csv"]
_TITLES: Final[dict[Kind, tuple[str, str]]] = {
    "html": ("Report on study", "Report (*.html)"),
    "png": ("Save picture as PNG", "PNG picture (*.png)"),
    "svg": ("Save picture as SVG", "SVG drawing (*.svg)"),
    "csv": ("Save points as CSV", "CSV (*.csv)"),
}


class StudyFiles(QObject):
    """Asks for a file, and writes it in the background; a notice says where it is."""

    def __init__(self, services: Services, control: StudyControl) -> None:
        super().__init__(services.window)
        self._window, self._notice, self._control = services.window, services.notice, control
        self._jobs = FileJobs(self)
        tell_of_files(self._jobs, self._notice)

    def ask(self, kind: Kind) -> None:
        """Ask where to write this of the study that is shown."""
        snapshot = self._control.snapshot
        if snapshot is None or snapshot.state is None:
            return
        title, filters = _TITLES[kind]
        dialog = QFileDialog(self._window, title, str(snapshot.path.parent), filters)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(kind)
        dialog.selectFile(f"{snapshot.path.name.partition('.')[0]}.{kind}")
        dialog.setAccessibleName(title)
        dialog.fileSelected.connect(lambda name: self.write(kind, Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def write(self, kind: Kind, path: Path) -> None:
        """Write it to this file."""
        self._jobs.start(path, self._writer(kind, path))

    def close(self) -> None:
        """Write no more."""
        self._jobs.close()

    def _writer(self, kind: Kind, path: Path) -> Callable[[Stop], None]:
        from gpu_studio.common.safe_files import csv_line
        from gpu_studio.lab.study_picture import HEADINGS, rows_of
        from gpu_studio.runs.results.report.study import write_study_report

        snapshot = self._control.snapshot
        assert snapshot is not None
        assert snapshot.state is not None
        if kind == "html":
            state, verdict = snapshot.state, snapshot.verdict
            return lambda _stop: write_study_report(state, verdict, path.absolute())
        if kind == "csv":
            rows = [HEADINGS, *rows_of(snapshot.groups)]
            return partial(write_lines, path.absolute(), [csv_line(row) for row in rows])
        chart = self._control.section.view.picture
        content = chart.png() if kind == "png" else chart.svg()
        return partial(write_parts, path.absolute(), [content])
