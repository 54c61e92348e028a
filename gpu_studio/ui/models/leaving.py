"""A process that nobody waits for any more: it is asked to end, and made to if it does not."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from PySide6.QtCore import QObject, QProcess, QTimer, Signal

DYING_MS = 2000


class Leaving(QObject):
    """Interrupts a process as Ctrl+C does, so that it ends whom it started, and kills it after two seconds.

    It blocks nobody. `gone` fires when the process has ended.
    """

    gone = Signal()

    def __init__(self, process: QProcess, parent: QObject) -> None:
        super().__init__(parent)
        self._process = process
        process.setParent(self)
        process.finished.connect(self.gone)
        self._last = QTimer(self)
        self._last.setSingleShot(True)
        self._last.timeout.connect(process.kill)
        self._last.start(DYING_MS)
        with suppress(ProcessLookupError):
            os.kill(process.processId(), signal.SIGINT)

    def wait(self) -> None:
        """Block until the process is gone, four seconds at most: for the end of the program."""
        self._last.stop()
        if not self._process.waitForFinished(DYING_MS):
            self._process.kill()
            self._process.waitForFinished(DYING_MS)
