"""Query this machine's hardware in a separate process, so that no driver call blocks the window."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QProcess, QTimer, Signal

from gpu_studio.common.own_processes import module_command, module_environment
from gpu_studio.hardware import parse_inventory
from gpu_studio.plan import Machine

COMMAND = (*module_command("gpu_studio.hardware"), "--users")
TIMEOUT_MS = 20_000


class Inventory(QObject):
    """Asks for the inventory in the background.

    `changed` fires when the asking begins, and when it has ended.

    After a failure `error` says what happened, and `machine` is still what was known before, if
    anything was.
    """

    changed = Signal()

    def __init__(self, command: Sequence[str] = COMMAND, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.machine: Machine | None = None
        self.error = ""
        self._command = tuple(command)
        self.process = QProcess(self)
        self.process.setEnvironment(
            [f"{name}={value}" for name, value in module_environment().items()]
        )
        self.process.finished.connect(self._on_finished)
        self.process.errorOccurred.connect(self._on_error)
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.timeout.connect(self._give_up)

    @property
    def looking(self) -> bool:
        """Whether the machine is being asked just now."""
        return self.process.state() != QProcess.ProcessState.NotRunning

    def refresh(self) -> None:
        """Ask again; does nothing while an answer is still awaited."""
        if self.looking:
            return
        self.error = ""
        self.process.start(self._command[0], list(self._command[1:]))
        self._patience.start(TIMEOUT_MS)
        self.changed.emit()

    def close(self) -> None:
        """Stop asking, and leave no process behind."""
        self._patience.stop()
        self.process.blockSignals(True)
        if self.looking:
            self.process.kill()
            self.process.waitForFinished(2000)

    def _give_up(self) -> None:
        self.error = f"The machine's devices did not answer within {TIMEOUT_MS // 1000} s."
        self.process.kill()

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self._end(f"{self._command[0]} could not be started: {self.process.errorString()}.")

    def _on_finished(self, code: int, status: QProcess.ExitStatus) -> None:
        text = bytes(self.process.readAllStandardOutput().data()).decode("utf-8", "replace")
        if status == QProcess.ExitStatus.CrashExit:
            self._end(
                self.error
                or "Looking for the machine's devices ended in a crash, perhaps of the driver."
            )
        elif code != 0:
            self._end(
                self._last_words()
                or f"Looking for the machine's devices ended with exit code {code}."
            )
        else:
            self._take(text)

    def _take(self, text: str) -> None:
        try:
            self.machine = parse_inventory(text)
        except ValueError as error:
            self._end(f"The list of this machine's devices cannot be read: {error}")
        else:
            self._end("")

    def _last_words(self) -> str:
        said = bytes(self.process.readAllStandardError().data()).decode("utf-8", "replace")
        lines = [line for line in said.splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def _end(self, error: str) -> None:
        self._patience.stop()
        self.error = error
        self.changed.emit()
