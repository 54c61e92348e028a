"""The window's side of the sampler.

The sampler is a process that watches the machine, so that no driver call blocks the window.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QObject, QProcess, QTimer, Signal

from gpu_studio.contract.samples import Owner, SampleError, decode
from gpu_studio.hardware.picture import MachinePicture
from gpu_studio.hardware.supervision import Watchdog, sampler_command, sampler_environment

if TYPE_CHECKING:
    from gpu_studio.hardware.device_history import DeviceHistory

RATE_HZ = 1.0
"""Looks at the cards a second, unless somebody chose otherwise."""
LOW_RATE_HZ = 0.2
IN_THE_BACKGROUND = ("fast", "slow", "processes")
"""What alerts and a history without gaps need while a run goes on and nobody looks."""
TOGETHER_MS = 60
"""What comes within this time is reported as one change.

The classes of one second come a few milliseconds apart.
"""
DYING_MS = 1000
DEVICES = "devices"
"""Who looks on the Devices page."""
NOT_SAMPLING = "not sampling: nobody looks at the devices"
_SLACK_MS = 50
_LEAST_SECONDS = 0.1


class SamplerClient(QObject):
    """Watches the machine once `look` is called; `changed` fires when there is something new.

    It is asked only for what somebody looks at: after `rest` it lives, and is asked for nothing,
    unless a run goes on (`keep_watch`): then for a little, seldom. `noticed` fires with all that
    comes, `changed` only while somebody looks. One that dies, or does not answer for 5 s, is
    started anew, each time after a longer pause; until then `trouble` says why.
    """

    changed = Signal()
    noticed = Signal()

    def __init__(
        self,
        folder: Path | None = None,
        command: Sequence[str] | None = None,
        parent: QObject | None = None,
        watchdog: Watchdog | None = None,
    ) -> None:
        super().__init__(parent)
        self.picture = MachinePicture()
        self._history: DeviceHistory | None = None
        self.trouble = ""
        self._command = list(command or sampler_command(classes=(), rate=RATE_HZ, folder=folder))
        self._watchdog = watchdog or Watchdog()
        self._process: QProcess | None = None
        self._viewers: dict[str, tuple[str, ...]] = {}
        self._keeps_watch = False
        self._rate = RATE_HZ
        self._cut = b""
        self._restart = _timer(self, self._start)
        self._hang = _timer(self, self._see_whether_it_hangs)
        self._soon = _timer(self, self._tell_now)

    @property
    def history(self) -> DeviceHistory:
        """What was seen, for the plots.

        What keeps it takes long to import, and is not needed at the start.
        """
        if self._history is None:
            from gpu_studio.hardware.device_history import DeviceHistory

            self._history = DeviceHistory()
        return self._history

    @property
    def pid(self) -> int | None:
        """The sampler's process; None while there is none."""
        return self._process.processId() or None if self._process else None

    @property
    def watched(self) -> bool:
        """Whether somebody looks."""
        return bool(self._wanted)

    @property
    def status(self) -> str:
        """How it is, in a few words: `sampling 1 Hz · 0.3 % of a core`.

        Empty before it was first started.
        """
        if self.trouble:
            return self.trouble
        if "started" not in self.picture.seen:
            return "starting to watch the devices…" if self._process else ""
        beat = self.picture.beat
        cost = f" · {beat.cpu_percent:.1f} % of a core" if beat else ""
        if self._wanted:
            return f"sampling {self._rate:g} Hz{cost}"
        return (
            f"sampling {LOW_RATE_HZ:g} Hz for the run{cost}" if self._keeps_watch else NOT_SAMPLING
        )

    def look(self, classes: Iterable[str], viewer: str = DEVICES) -> None:
        """Ask for these classes of figures from now on, and for what other viewers look at."""
        self._viewers[viewer] = tuple(classes)
        self._ask_or_start()

    def rest(self, viewer: str = DEVICES) -> None:
        """This viewer looks no more."""
        self._viewers.pop(viewer, None)
        if not self._viewers:
            self._soon.stop()
        self.ask(**self._request)

    @property
    def _wanted(self) -> tuple[str, ...]:
        """Every class that somebody looks at."""
        return tuple(dict.fromkeys(each for classes in self._viewers.values() for each in classes))

    def keep_watch(self, on: bool) -> None:
        """Keep asking, seldom, what alerts need even while nobody looks, or no longer.

        It is `on` while a run goes on.
        """
        if on != self._keeps_watch:
            self._keeps_watch = on
            self._ask_or_start()

    def look_every(self, seconds: float) -> None:
        """Look at the cards so often from now on, while somebody looks at what is seen."""
        self._rate = 1 / max(seconds, _LEAST_SECONDS)
        self.ask(**self._request)

    @property
    def _request(self) -> dict[str, object]:
        if self._wanted or not self._keeps_watch:
            return {"classes": self._wanted, "rate": self._rate}
        return {"classes": IN_THE_BACKGROUND, "rate": LOW_RATE_HZ}

    def _ask_or_start(self) -> None:
        idle = self._process is None and not self._restart.isActive()
        if idle and (self._wanted or self._keeps_watch):
            self._start()
        else:
            self.ask(**self._request)

    def retry(self) -> None:
        """Ask the driver anew now for cards that are lost."""
        self._watchdog.forgive()
        if self._restart.isActive():
            self._restart.start(0)
        self.ask(retry=True)

    def renew(self) -> None:
        """Watch another machine from now on: nothing that was seen before holds."""
        self.close()
        self.picture, self.trouble = MachinePicture(), ""
        self._ask_or_start()

    def close(self) -> None:
        """Leave no process and no timer behind."""
        for timer in (self._restart, self._hang, self._soon):
            timer.stop()
        process, self._process = self._process, None
        if process is not None:
            self._let_go(process)
            process.closeWriteChannel()
            if not process.waitForFinished(DYING_MS):
                process.kill()
                process.waitForFinished(DYING_MS)

    def _start(self) -> None:
        process = self._process = QProcess(self)
        process.setEnvironment([f"{name}={value}" for name, value in sampler_environment().items()])
        process.readyReadStandardOutput.connect(self._read)
        process.finished.connect(self._has_ended)
        process.errorOccurred.connect(self._has_failed)
        self._cut = b""
        self._watchdog.started(time.monotonic())
        process.start(self._command[0], [*self._command[1:], *self._watchdog.options])
        self.ask(**self._request)
        self._await_word()

    def ask(self, **wanted: object) -> None:
        """Write a request to the sampler, if it runs."""
        if self._process is not None and self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.write(msgspec.json.encode(wanted) + b"\n")

    def _read(self) -> None:
        if self._process is None:
            return
        *lines, self._cut = (self._cut + bytes(self._process.readAllStandardOutput().data())).split(
            b"\n"
        )
        now = time.monotonic()
        for line in lines:
            self._watchdog.heard(now, line)
            self.take(line)
        self._await_word()

    def take(self, line: bytes) -> None:
        """Take in a line of the sampler; one that is no sample is left out."""
        try:
            sample = decode(line)
        except SampleError:
            return  # a line of somebody else's, such as a library's chatter
        if sample is not None:
            self.picture.apply(sample)
            self.history.add(sample)
            if line.startswith((b'{"sample":"cards"', b'{"sample":"fast"')):
                self.trouble = ""
            self._tell()

    def _tell(self) -> None:
        if (self._wanted or self._keeps_watch) and not self._soon.isActive():
            self._soon.start(TOGETHER_MS)

    def _tell_now(self) -> None:
        self.noticed.emit()
        if self._wanted:
            self.changed.emit()

    def _await_word(self) -> None:
        left = self._watchdog.deadline - time.monotonic()
        self._hang.start(max(0, round(left * 1000)) + _SLACK_MS)

    def _let_go(self, process: QProcess) -> None:
        process.readyReadStandardOutput.disconnect(self._read)
        process.finished.disconnect(self._has_ended)
        process.errorOccurred.disconnect(self._has_failed)

    def _see_whether_it_hangs(self) -> None:
        if self._watchdog.is_overdue(time.monotonic()) and self._process is not None:
            process = self._process
            self._let_go(process)
            # One stuck in the driver goes when the driver lets go of it, and its successor does not
            # wait for that.
            process.finished.connect(process.deleteLater)
            process.kill()
            self._start_again(None)
        else:
            self._await_word()

    def _has_failed(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and self._process is not None:
            self._start_again(
                1, f"{self._command[0]} could not be started: {self._process.errorString()}"
            )

    def _has_ended(self, code: int, status: QProcess.ExitStatus) -> None:
        if self._process is None:
            return
        self._read()
        said = (
            bytes(self._process.readAllStandardError().data())
            .decode("utf-8", "replace")
            .strip()
            .splitlines()
        )
        crashed = status == QProcess.ExitStatus.CrashExit
        process = self._process
        self._start_again(-code if crashed else code, said[-1] if said else "")
        process.deleteLater()

    def _start_again(self, code: int | None, last_words: str = "") -> None:
        self._process = None
        self._hang.stop()
        restart = self._watchdog.ended(time.monotonic(), code, last_words)
        self.trouble = restart.words
        self.picture.apply(Owner(time=time.time(), words=restart.words))
        self._restart.start(round(restart.delay * 1000))
        self._tell()


def _timer(parent: SamplerClient, then: object) -> QTimer:
    timer = QTimer(parent)
    timer.setSingleShot(True)
    timer.timeout.connect(then)
    return timer
