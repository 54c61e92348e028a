"""Ending a process: asked politely first, and killed if it has not gone after a while."""

from __future__ import annotations

import psutil
from PySide6.QtCore import QObject, QTimer, Signal

GRACE_MS = 5000
LOOK_MS = 200


class Ending(QObject):
    """Ends one process at a time. `told(words)` says what becomes of it; `bad` whether it could not be ended."""

    told = Signal(str)

    def __init__(self, parent: QObject | None = None, grace_ms: int = GRACE_MS) -> None:
        super().__init__(parent)
        self._grace_ms = grace_ms
        self._process: psutil.Process | None = None
        self._waited = 0
        self._look = QTimer(self)
        self._look.setInterval(LOOK_MS)
        self._look.timeout.connect(self._see)

    @property
    def busy(self) -> bool:
        """Whether a process is being ended just now."""
        return self._process is not None

    def end(self, pid: int) -> None:
        """Ask this process to end (SIGTERM), and kill it (SIGKILL) if it has not after the time of grace."""
        if self.busy:
            return
        self._waited = 0
        try:
            # psutil compares the time of its start, so that no later process of the same number is meant.
            self._process = psutil.Process(pid)
            self._process.terminate()
        except psutil.Error as error:
            self._tell_why_not(pid, error)
        else:
            self.told.emit(f"Process {pid} was asked to end.")
            self._look.start()

    def close(self) -> None:
        """Look no more."""
        self._look.stop()
        self._process = None

    def _see(self) -> None:
        process = self._process
        if process is None:
            return
        self._waited += LOOK_MS
        if _is_gone(process):
            self.close()
            self.told.emit(f"Process {process.pid} has ended.")
        elif self._waited >= self._grace_ms:
            self._kill(process)

    def _kill(self, process: psutil.Process) -> None:
        self.close()
        try:
            process.kill()
        except psutil.Error as error:
            self._tell_why_not(process.pid, error)
        else:
            self.told.emit(f"Process {process.pid} did not end within {self._grace_ms / 1000:g} s and was killed.")

    def _tell_why_not(self, pid: int, error: psutil.Error) -> None:
        self.close()
        self.told.emit(why_not(pid, error))


def why_not(pid: int, error: psutil.Error) -> str:
    """Why a process could not be ended, and what to do."""
    if isinstance(error, psutil.NoSuchProcess):
        return f"Process {pid} has already ended."
    if isinstance(error, psutil.AccessDenied):
        return (
            f"Process {pid} belongs to another user, and the system does not let you end it (EPERM): "
            f"ask its owner, or type: sudo kill {pid}"
        )
    return f"Process {pid} could not be ended: {error}."


def _is_gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True
