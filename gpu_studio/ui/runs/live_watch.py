"""Watch which runs are alive, whoever started them, and report when one begins or ends."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.state import is_live, live_runs

LOOK_MS = 1000


class LiveWatch(QObject):
    """`live` are the runs whose trainers were alive at the last look, the newest first.

    `changed` reports that they are others.
    """

    began = Signal(object)
    ended = Signal(object)
    changed = Signal()

    def __init__(self, runs: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs = runs
        self._live: dict[str, RunDirectory] = {}
        self._has_looked = False
        self._folder: QFileSystemWatcher | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self._ask)

    @property
    def live(self) -> list[RunDirectory]:
        """The runs that were alive at the last look, the newest first."""
        return [self._live[name] for name in sorted(self._live, reverse=True)]

    def look(self) -> None:
        """Find what is alive now."""
        if self._folder is None and self._runs.is_dir():
            self._folder = QFileSystemWatcher(self)
            self._folder.addPath(str(self._runs))
            self._folder.directoryChanged.connect(lambda _: self.look())
        new = [run for run in live_runs(self._runs) if run.id not in self._live]
        first, self._has_looked = not self._has_looked, True
        self._take(new)
        for run in new if not first else ():
            self.began.emit(run)

    def add(self, run: RunDirectory) -> None:
        """Watch for the end of a run that this window started, and that may be over already."""
        self._take([run])
        self.look()

    def close(self) -> None:
        """Stop watching."""
        self._timer.stop()
        if self._folder is not None:
            self._folder.removePath(str(self._runs))

    def _take(self, new: list[RunDirectory]) -> None:
        self._live |= {run.id: run for run in new}
        if self._live:
            self._timer.start()
        if new:
            self.changed.emit()

    def _ask(self) -> None:
        gone = [run for run in self._live.values() if not is_live(run)]
        for run in gone:
            del self._live[run.id]
        if not self._live:
            self._timer.stop()
        for run in gone:
            # One that was deleted or moved away has nothing to report.
            if run.exists():
                self.ended.emit(run)
        if gone:
            self.changed.emit()
