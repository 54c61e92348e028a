"""Read the list of runs in the background, repeatedly while it is visible."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.runs.catalogue import Catalogue, purge
from gpu_studio.ui.kit.task import BackgroundTask, Report
from gpu_studio.ui.runs.run_extras import RunExtras
from gpu_studio.ui.runs.run_row import RunRow

EVERY_MS = 2000


class RunsReader(QObject):
    """`rows(list)` brings the runs of the directory; `failed(str)` says why it cannot be read.

    What the cards drew is added up from recordings that may be long: it comes with later `rows`.
    """

    rows = Signal(object)
    failed = Signal(str)

    def __init__(self, runs: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._catalogue = Catalogue(runs)
        self._extras = RunExtras()
        self._again = False
        self._tidying = BackgroundTask("tidying", self)
        self._reading = BackgroundTask("runs", self)
        self._reading.done.connect(self._deliver)
        self._energy = BackgroundTask("energy", self)
        self._energy.done.connect(self.read)
        self.timer = QTimer(self)
        self.timer.setInterval(EVERY_MS)
        self.timer.timeout.connect(self.read)

    @property
    def busy(self) -> bool:
        """Whether something is being read."""
        return self._reading.busy

    def tidy(self) -> None:
        """Remove for good what was deleted long ago."""
        self._tidying.start(self._purge)

    def watch(self) -> None:
        """Read now, and every two seconds from now on."""
        self.timer.start()
        self.read()

    def rest(self) -> None:
        """Stop reading until asked to."""
        self.timer.stop()

    def read(self) -> None:
        """Read once; if a reading is under way, once more after it."""
        if self.busy:
            self._again = True
        else:
            self._reading.start(self._rows)

    def close(self) -> None:
        """Stop reading. The thread finishes the recording that it is reading, and then ends."""
        self.rest()
        self._energy.close(wait=False)
        self._reading.close()
        self._tidying.close()

    def _rows(self) -> list[RunRow] | OSError:
        try:
            return self._extras.rows(self._catalogue.summaries())
        except OSError as error:
            return error

    def _purge(self) -> None:
        # The next start tries again what cannot be removed now.
        with suppress(OSError):
            purge(self._catalogue.runs)

    def _deliver(self, found: list[RunRow] | OSError) -> None:
        if isinstance(found, OSError):
            self.failed.emit(
                f"The runs in {self._catalogue.runs} cannot be read: {found.strerror or found}."
            )
        else:
            self.rows.emit(found)
            self._read_energy()
        if self._again:
            self._again = False
            self.read()

    def _read_energy(self) -> None:
        if not self._energy.busy and self._extras.behind:
            self._energy.start_work(self._add_up)

    def _add_up(self, _report: Report, cancelled: threading.Event) -> None:
        self._extras.read_energy(cancelled.is_set)
