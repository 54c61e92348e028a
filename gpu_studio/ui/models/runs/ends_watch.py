"""Tells of runs that end, whoever started them: those that were alive when it looked, and those begun since."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.state import is_live
from gpu_studio.ui.control.run_control import live_runs

LOOK_MS = 1000


class EndsWatch(QObject):
    """`ended(RunDirectory)` fires once for each run whose trainer has gone.

    The system tells when a run comes; only while some are alive are their locks asked, once a second.
    """

    ended = Signal(object)

    def __init__(self, runs: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs = runs
        self._live: dict[str, RunDirectory] = {}
        self._folder: QFileSystemWatcher | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self._ask)

    def look(self) -> None:
        """Find what is alive now."""
        if self._folder is None and self._runs.is_dir():
            self._folder = QFileSystemWatcher(self)
            self._folder.addPath(str(self._runs))
            self._folder.directoryChanged.connect(lambda _: self.look())
        self._live |= {run.id: run for run in live_runs(self._runs)}
        if self._live:
            self._timer.start()

    def add(self, run: RunDirectory) -> None:
        """Await the end of a run that has just been started, and may be over already."""
        self.look()
        self._live[run.id] = run
        self._timer.start()

    def close(self) -> None:
        """Look no more."""
        self._timer.stop()
        if self._folder is not None:
            self._folder.removePath(str(self._runs))

    def _ask(self) -> None:
        gone = [run for run in self._live.values() if not is_live(run)]
        for run in gone:
            del self._live[run.id]
        if not self._live:
            self._timer.stop()
        for run in gone:
            # One that was deleted, or moved away, has nothing to tell.
            if run.exists():
                self.ended.emit(run)
