"""Watch which runs are alive, whoever started them, and report when one begins or ends."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from gpu_studio.contract import RunDirectory
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
        self._folder = QFileSystemWatcher(self)
        self._folder.directoryChanged.connect(lambda _: self.look())
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self._ask)

    @property
    def live(self) -> list[RunDirectory]:
        """The runs that were alive at the last look, the newest first."""
        return [self._live[name] for name in sorted(self._live, reverse=True)]

    def look(self) -> None:
        """Find what is alive now."""
        self._watch_folder()
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
        self._leave_folders()

    def _watch_folder(self) -> None:
        """Hear of new runs; before the first run, of the folder that will hold them."""
        while self._folder.directories() != [there := str(_nearest_folder(self._runs))]:
            self._leave_folders()
            if not self._folder.addPath(there):
                return  # nobody may look into it

    def _leave_folders(self) -> None:
        for folder in self._folder.directories():
            self._folder.removePath(folder)

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


def _nearest_folder(path: Path) -> Path:
    """The folder itself, or else the innermost one that is there and will hold it."""
    return next(each for each in (path, *path.parents) if each.is_dir())
