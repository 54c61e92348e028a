"""The list of runs, read beside the window's thread, again and again while somebody looks at it."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QObject, QThreadPool, QTimer, Signal

from gpu_studio.runs.catalogue import Catalogue, purge
from gpu_studio.ui.models.background import Background, Tell
from gpu_studio.ui.models.runs.run_extras import RunExtras

EVERY_MS = 2000
LOOK_MS = 50


class RunsReader(QObject):
    """`rows(list)` brings the runs of the directory; `failed(str)` says why it cannot be read.

    What the cards drew is added up from recordings that may be long: it comes with later `rows`.
    """

    rows = Signal(object)
    failed = Signal(str)
    _read = Signal(object)

    def __init__(self, runs: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._catalogue = Catalogue(runs)
        self._extras = RunExtras()
        self._busy = False
        self._again = False
        self._energy: Background[None] | None = None
        self._look = QTimer(self)
        self._look.setInterval(LOOK_MS)
        self._look.timeout.connect(self._take_energy)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._timer = QTimer(self)
        self._timer.setInterval(EVERY_MS)
        self._timer.timeout.connect(self.read)
        self._read.connect(self._deliver)

    @property
    def busy(self) -> bool:
        """Whether something is being read."""
        return self._busy

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
        """Read no more. A long recording that is being read just now is left to its thread, which then ends."""
        self.rest()
        self._look.stop()
        if self._energy is not None:
            self._energy.cancel()
        self._read.disconnect(self._deliver)
        self._pool.waitForDone()

    def _work(self) -> None:
        try:
            self._read.emit(self._extras.rows(self._catalogue.summaries()))
        except OSError as error:
            self._read.emit(error)

    def _purge(self) -> None:
        # What cannot be removed now is tried again at the next start.
        with suppress(OSError):
            purge(self._catalogue.runs)

    def _deliver(self, found: object) -> None:
        if isinstance(found, OSError):
            self.failed.emit(f"The runs in {self._catalogue.runs} cannot be read: {found.strerror or found}.")
        else:
            self.rows.emit(found)
            self._read_energy()
        self._busy = self._again
        if self._again:
            self._again = False
            self._pool.start(self._work)

    def _read_energy(self) -> None:
        if self._energy is None and self._extras.behind:
            self._energy = Background("energy", self._add_up)
            self._look.start()

    def _add_up(self, _tell: Tell[None], cancelled: threading.Event) -> None:
        self._extras.read_energy(cancelled.is_set)

    def _take_energy(self) -> None:
        if self._energy is not None and not self._energy.alive:
            self._energy = None
            self._look.stop()
            self.read()
