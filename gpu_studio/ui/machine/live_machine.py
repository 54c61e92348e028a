"""The machine for all that checks a plan against it: its inventory and its present state.

A separate process queries the hardware, so that no driver call blocks the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QProcess, QTimer, Signal

from gpu_studio.common.processes import module_command, module_environment
from gpu_studio.hardware import parse_inventory
from gpu_studio.hardware.picture import is_news, machine_now
from gpu_studio.plan import Machine

if TYPE_CHECKING:
    from gpu_studio.ui.machine.sampler import SamplerClient

VIEWER = "plan"
CLASSES = ("fast", "processes")
"""What a plan is held against: who has how much of which card."""


class LiveMachine(QObject):
    """What the inventory found, with the figures that the sampler sees.

    `changed` fires when the machine is asked, and when a plan could fare otherwise than before. It
    looks only while somebody `watch`es, and at cards only: of the CPU a plan needs nothing that
    changes.
    """

    changed = Signal()

    def __init__(
        self, inventory: Inventory, sampler: SamplerClient, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._inventory = inventory
        self._sampler = sampler
        self._watched = False
        self._looking = False
        self.machine: Machine | None = inventory.machine
        inventory.changed.connect(self._take)
        sampler.changed.connect(self._follow)

    @property
    def error(self) -> str:
        """Why the machine could not be asked; empty if it could."""
        return self._inventory.error

    def watch(self, on: bool) -> None:
        """Go on looking at the cards, or no longer."""
        self._watched = on
        self._look()
        self._follow()

    def _look(self) -> None:
        wanted = self._watched and self.machine is not None and bool(self.machine.cards)
        if wanted == self._looking:
            return
        self._looking = wanted
        if wanted:
            self._sampler.look(CLASSES, VIEWER)
        else:
            self._sampler.rest(VIEWER)

    def _take(self) -> None:
        """The machine was asked anew, or the asking begins."""
        if not self._inventory.looking:
            self.machine = self._now()
            self._look()
        self.changed.emit()

    def _follow(self) -> None:
        # While nobody looks at the plan, others may look at the cards: that is for when it is
        # looked at again.
        now = self._now() if self._looking else None
        if now is not None and self.machine is not None and is_news(self.machine, now):
            self.machine = now
            self.changed.emit()

    def _now(self) -> Machine | None:
        from gpu_studio.hardware.device_rows import me

        machine = self._inventory.machine
        # What nobody looks at is older than what the inventory reported.
        fresh = self._sampler.watched
        return (
            machine_now(machine, self._sampler.picture, me())
            if machine is not None and fresh
            else machine
        )


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
        # Which cards there are to see may have been chosen anew.
        self.process.setEnvironment(
            [f"{name}={value}" for name, value in module_environment().items()]
        )
        self.process.start(self._command[0], list(self._command[1:]))
        self._patience.start(TIMEOUT_MS)
        self.changed.emit()

    def renew(self) -> None:
        """Ask for the devices of another machine: an answer that is awaited is not."""
        self.process.blockSignals(True)
        if self.looking:
            self.process.kill()
            self.process.waitForFinished(2000)
        self.process.blockSignals(False)
        self.refresh()

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
