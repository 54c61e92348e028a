"""The list of runs, read beside the window's thread, again and again while somebody looks at it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QObject, QThreadPool, QTimer, Signal

from gpu_studio.runs.catalogue import Catalogue, purge

EVERY_MS = 2000


class RunsReader(QObject):
    """`summaries(list)` brings the runs of the directory; `failed(str)` says why it cannot be read."""

    summaries = Signal(object)
    failed = Signal(str)
    _read = Signal(object)

    def __init__(self, runs: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._catalogue = Catalogue(runs)
        self._busy = False
        self._again = False
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._timer = QTimer(self)
        self._timer.setInterval(EVERY_MS)
        self._timer.timeout.connect(self.read)
        self._read.connect(self._deliver)

    def tidy(self) -> None:
        """Remove for good what was deleted long ago."""
        self._pool.start(self._purge)

    def watch(self) -> None:
        """Read now, and every two seconds from now on."""
        self._timer.start()
        self.read()

    def rest(self) -> None:
        """Read no more until asked to."""
        self._timer.stop()

    def read(self) -> None:
        """Read once; if that is being done already, once more after it."""
        if self._busy:
            self._again = True
            return
        self._busy = True
        self._pool.start(self._work)

    def close(self) -> None:
        """Read no more, and leave no thread behind."""
        self.rest()
        self._read.disconnect(self._deliver)
        self._pool.waitForDone()

    def _work(self) -> None:
        try:
            self._read.emit(self._catalogue.summaries())
        except OSError as error:
            self._read.emit(error)

    def _purge(self) -> None:
        # What cannot be removed now is tried again at the next start.
        with suppress(OSError):
            purge(self._catalogue.runs)

    def _deliver(self, found: object) -> None:
        self._busy = False
        if isinstance(found, OSError):
            self.failed.emit(f"The runs in {self._catalogue.runs} cannot be read: {found.strerror or found}.")
        else:
            self.summaries.emit(found)
        if self._again:
            self._again = False
            self.read()
