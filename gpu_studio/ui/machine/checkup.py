"""The doctor, run in a process of its own.

It reports findings, the links between the cards, and advice on choosing among them.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, QProcess, QTimer, Signal

from gpu_studio.common.processes import module_command, module_environment
from gpu_studio.contract import JSON_ERRORS
from gpu_studio.hardware.doctor.findings import Finding
from gpu_studio.hardware.topology import Topology

DYING_MS = 2000


class Leaving(QObject):
    """Interrupts a process as Ctrl+C does, so that it ends its children.

    The process is killed after two seconds.
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
        """Block until the process has ended, four seconds at most: for the end of the program."""
        self._last.stop()
        if not self._process.waitForFinished(DYING_MS):
            self._process.kill()
            self._process.waitForFinished(DYING_MS)


TIMEOUT_MS = 330_000
"""Longer than TensorFlow may take to answer the doctor."""


@dataclass(frozen=True, slots=True)
class _Advice:
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the doctor reported."""

    findings: tuple[Finding, ...] = ()
    topology: Topology = field(default_factory=Topology)
    advice: _Advice | None = None

    @property
    def problems(self) -> int:
        """How many things must be mended."""
        return sum(finding.state == "bad" for finding in self.findings)


class Checkup(QObject):
    """Asks the doctor.

    `glance` for what is known at once, `examine` for TensorFlow too, which takes seconds.

    `changed` fires when the asking begins, when there is a word of progress, and when it has ended;
    `error` says why there is no diagnosis. `rejoined` has how the cards are joined, where an answer
    says otherwise than the one before.
    """

    changed = Signal()
    rejoined = Signal(object)

    def __init__(
        self,
        runs: Path | None = None,
        command: Sequence[str] | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        folder = ["--runs-dir", str(runs)] if runs else []
        self._quick = list(
            command or [*module_command("gpu_studio.hardware.doctor"), "--json", *folder]
        )
        self._whole = list(command or [*module_command("gpu_studio"), "doctor", "--json", *folder])
        self.diagnosis: Diagnosis | None = None
        self.examined = False
        self.error = ""
        self._examining = False
        self.process = self._made()
        self._leaving: list[Leaving] = []
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.timeout.connect(self._give_up)

    @property
    def topology(self) -> Topology | None:
        """How the cards are joined; None as long as the doctor has reported nothing."""
        return self.diagnosis.topology if self.diagnosis else None

    def follow_topology(self, show: Callable[[Topology | None], None]) -> None:
        """Call `show` with how the cards are joined: now, and whenever that has become another."""
        self.rejoined.connect(show)
        show(self.topology)

    @property
    def looking(self) -> bool:
        """Whether the doctor is at it."""
        return self.process.state() != QProcess.ProcessState.NotRunning

    @property
    def waiting_for(self) -> str:
        """What is waited for, in words; empty if nothing is."""
        if not self.looking:
            return ""
        return (
            "asking TensorFlow, the driver and the system…"
            if self._examining
            else "asking the driver…"
        )

    def glance(self) -> None:
        """Look without TensorFlow, unless the doctor is at it already."""
        self._ask(self._quick, examining=False)

    def examine(self) -> None:
        """Look at everything, TensorFlow included."""
        if self.looking and not self._examining:
            self.cancel()
        self._ask(self._whole, examining=True)

    def renew(self) -> None:
        """Examine another machine: nothing that was known before holds."""
        self.cancel()
        before, self.diagnosis, self.examined, self.error = self.topology, None, False, ""
        if before is not None:
            self.rejoined.emit(None)
        self.glance()

    def cancel(self) -> None:
        """Ask no more; what was known stays."""
        self._patience.stop()
        if self.looking:
            self.process.finished.disconnect(self._has_ended)
            self.process.errorOccurred.disconnect(self._has_failed)
            # Interrupted, as by Ctrl+C, the doctor ends whom it asked; killed, it would leave
            # TensorFlow running.
            leaving = Leaving(self.process, self)
            leaving.gone.connect(lambda: self._forget(leaving))
            self._leaving.append(leaving)
            self.process = self._made()
            self.changed.emit()

    def close(self) -> None:
        """Leave no process behind."""
        self.blockSignals(True)
        self.cancel()
        for leaving in list(self._leaving):
            leaving.wait()

    def _made(self) -> QProcess:
        process = QProcess(self)
        process.finished.connect(self._has_ended)
        process.errorOccurred.connect(self._has_failed)
        return process

    def _forget(self, leaving: Leaving) -> None:
        if leaving in self._leaving:
            self._leaving.remove(leaving)
            leaving.deleteLater()

    def _ask(self, command: list[str], *, examining: bool) -> None:
        if self.looking:
            return
        self.error, self._examining = "", examining
        # Which cards there are to see may have been chosen anew.
        environment = [f"{name}={value}" for name, value in module_environment().items()]
        self.process.setEnvironment(environment)
        self.process.start(command[0], command[1:])
        self._patience.start(TIMEOUT_MS)
        self.changed.emit()

    def _give_up(self) -> None:
        self.cancel()
        self._end(f"The doctor did not answer within {TIMEOUT_MS // 1000} s.")

    def _has_failed(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self._end(f"The doctor could not be started: {self.process.errorString()}.")

    def _has_ended(self, code: int, status: QProcess.ExitStatus) -> None:
        text = bytes(self.process.readAllStandardOutput().data())
        said = (
            bytes(self.process.readAllStandardError().data())
            .decode("utf-8", "replace")
            .strip()
            .splitlines()
        )
        before = self.topology
        try:
            self.diagnosis = msgspec.json.decode(text, type=Diagnosis)
        except JSON_ERRORS:
            crashed = status == QProcess.ExitStatus.CrashExit
            how = "in a crash, perhaps of the driver" if crashed else f"with exit code {code}"
            self._end(f"The examination ended {how}{': ' + said[-1] if said else ''}.")
        else:
            self.examined = self._examining
            self._end("")
            if self.topology != before:
                self.rejoined.emit(self.topology)

    def _end(self, error: str) -> None:
        self._patience.stop()
        self.error = error
        self.changed.emit()
