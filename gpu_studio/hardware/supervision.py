"""Supervise a sampler process: start it, read it, and restart it when it dies or hangs.

`Watchdog` is the rule, without a process or clock of its own: the window drives it with a
QProcess and a timer. `Supervisor` drives it for the command line, by waiting.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

import msgspec

from gpu_studio.contract import JSON_ERRORS
from gpu_studio.contract.samples import Asking, Owner, encode
from gpu_studio.hardware.source import RENEW

READ = 262_144
LONGEST_DYING = 2.0
_LAST_WORDS = 2000


class Supervisor:
    """A sampler for the duration of the block. For one thread; work happens only in `lines`."""

    def __init__(
        self, command: Sequence[str] | None = None, watchdog: Watchdog | None = None
    ) -> None:
        self._command = list(command or sampler_command())
        self._watchdog = watchdog or Watchdog()
        self.process: subprocess.Popen[bytes] | None = None
        self._start_at = time.monotonic()
        self._cut = b""
        self._errors = b""
        self._request: bytes = b""
        self._dying: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The sampler's process; None while there is none."""
        return self.process.pid if self.process else None

    def request(self, **wanted: Any) -> None:
        """Send the sampler `classes`, a `rate`, or a `retry`.

        Restarted samplers get the same request.
        """
        line = msgspec.json.encode(wanted) + b"\n"
        if wanted.get("retry"):
            self._watchdog.forgive()
        if "classes" in wanted or "rate" in wanted:
            self._request = line
        self._send(line)

    def lines(self, timeout: float) -> list[bytes]:
        """The samples that arrive within `timeout` seconds, one line each.

        Returns with the first ones. Events of the sampler itself, such as a restart, come as
        `Owner` samples.
        """
        end = time.monotonic() + timeout
        while True:
            self._start_if_due()
            if found := self._read(self._wait(end)):
                return found
            if time.monotonic() >= end:
                return []

    def close(self) -> None:
        """End the sampler. One stuck in the driver is killed, and ends when it can."""
        process, self.process = self.process, None
        if process is not None:
            _close(process.stdin)
            if not _wait_for(process, LONGEST_DYING):
                process.kill()
                _wait_for(process, LONGEST_DYING)
            _close(process.stdout, process.stderr)
        self._dying = [process for process in self._dying if process.poll() is None]
        self._start_at = float("inf")

    def _wait(self, end: float) -> float:
        until = min(end, self._watchdog.deadline if self.process else self._start_at)
        return max(0.0, until - time.monotonic())

    def _start_if_due(self) -> None:
        if self.process is None and time.monotonic() >= self._start_at:
            try:
                self.process = subprocess.Popen(
                    [*self._command, *self._watchdog.options],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=sampler_environment(),
                )
            except OSError as error:
                restart = self._watchdog.ended(time.monotonic(), 1, error.strerror or str(error))
                self._start_at = time.monotonic() + restart.delay
                return
            self._cut = self._errors = b""
            self._watchdog.started(time.monotonic())
            self._send(self._request)

    def _read(self, seconds: float) -> list[bytes]:
        process = self.process
        if process is None or process.stdout is None or process.stderr is None:
            time.sleep(seconds)
            return []
        ready, _, _ = select.select([process.stdout, process.stderr], [], [], seconds)
        if process.stderr in ready:
            self._errors = (self._errors + os.read(process.stderr.fileno(), READ))[-_LAST_WORDS:]
        if process.stdout in ready:
            chunk = os.read(process.stdout.fileno(), READ)
            return self._split(chunk) if chunk else self._has_ended(process)
        return self._has_hung(process) if self._watchdog.is_overdue(time.monotonic()) else []

    def _split(self, chunk: bytes) -> list[bytes]:
        *lines, self._cut = (self._cut + chunk).split(b"\n")
        for line in lines:
            self._watchdog.heard(time.monotonic(), line)
        return lines

    def _has_ended(self, process: subprocess.Popen[bytes]) -> list[bytes]:
        """Its stdout is closed: it has ended, or is about to."""
        if not _wait_for(process, LONGEST_DYING):
            process.kill()
            _wait_for(process, LONGEST_DYING)
        if process.stderr is not None:
            os.set_blocking(process.stderr.fileno(), False)
            self._errors += process.stderr.read() or b""
        return self._restart(process, process.returncode)

    def _has_hung(self, process: subprocess.Popen[bytes]) -> list[bytes]:
        process.kill()
        if not _wait_for(process, LONGEST_DYING):
            self._dying.append(process)
        return self._restart(process, None)

    def _restart(self, process: subprocess.Popen[bytes], code: int | None) -> list[bytes]:
        _close(process.stdin, process.stdout, process.stderr)
        self.process = None
        now = time.monotonic()
        words = self._errors.decode("utf-8", "replace").strip().splitlines()
        restart = self._watchdog.ended(now, code, words[-1] if words else "")
        self._start_at = now + restart.delay
        return [encode(Owner(time=time.time(), words=restart.words)).rstrip(b"\n")]

    def _send(self, line: bytes) -> None:
        if line and self.process is not None and self.process.stdin is not None:
            with contextlib.suppress(OSError):
                os.write(self.process.stdin.fileno(), line)


def _wait_for(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _close(*streams: IO[bytes] | None) -> None:
    for stream in streams:
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


HANG_AFTER = 5.0
OPENING_AFTER = 30.0
"""Seconds: without persistence mode, a driver takes long to open eight cards."""
SHORTEST, LONGEST = 0.5, 30.0
STEADY_AFTER = 60.0
"""Seconds after which the end of a sampler does not count as a failure to start."""
ALL_CLASSES = ("fast", "slow", "processes", "pcie", "host", "host_processes")
_OPENING, _ASKING = b'{"sample":"opening"', b'{"sample":"asking"'
_ROOT = Path(__file__).resolve().parents[2]


def sampler_command(
    classes: Iterable[str] = ALL_CLASSES,
    rate: float = 1.0,
    folder: Path | None = None,
    python: str = sys.executable,
) -> list[str]:
    """The command line of a sampler.

    `folder` is the one whose disk is reported, such as the runs'.
    """
    # -P: a `random.py` in the current folder does not shadow Python's.
    command = [
        python,
        "-P",
        "-m",
        "gpu_studio.hardware.sampler",
        "--classes",
        ",".join(classes),
        "--rate",
        str(rate),
    ]
    return [*command, "--folder", str(folder)] if folder else command


def sampler_environment() -> dict[str, str]:
    """This process's environment, with the path of this package if it is not an installed one."""
    installed = {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}
    if _ROOT in installed:
        return dict(os.environ)
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH", "")))),
    }


@dataclass(frozen=True, slots=True)
class Restart:
    """Restart the sampler after `delay` seconds; `words` tell the user why."""

    delay: float
    words: str


@dataclass(slots=True)
class Watchdog:
    """Tracks a sampler's life. All times are of one monotonic clock, in seconds.

    A hung one is restarted so that it reports which card it queries (`options`): if it hangs again,
    that card is left out from then on, and the others continue.
    """

    hang_after: float = HANG_AFTER
    opening_after: float = OPENING_AFTER
    _started: float = 0.0
    _heard: float = 0.0
    _patience: float = 0.0
    _failures: int = field(default=0)
    _careful: bool = False
    _asked: int | None = None
    _left_out: set[int] = field(default_factory=set)

    @property
    def options(self) -> list[str]:
        """Arguments to add to the sampler's next command line."""
        left_out = ",".join(map(str, sorted(self._left_out)))
        return [
            *(["--careful"] if self._careful else []),
            *(["--leave-out", left_out] if left_out else []),
        ]

    def forgive(self) -> None:
        """Stop leaving cards out: the user wants to retry."""
        self._left_out.clear()

    def started(self, now: float) -> None:
        """Record that the sampler was started."""
        self._started = self._heard = now
        self._patience = self.opening_after

    def heard(self, now: float, line: bytes) -> None:
        """Record a line of output. One that the driver is being opened extends the deadline."""
        self._heard = now
        self._asked = _asked(line) if line.startswith(_ASKING) else None
        self._patience = self.opening_after if line.startswith(_OPENING) else self.hang_after

    @property
    def deadline(self) -> float:
        """When it counts as hung unless it writes a line before."""
        return self._heard + self._patience

    def is_overdue(self, now: float) -> bool:
        """Whether it hangs: then kill it, and call `ended`."""
        return now > self.deadline

    def ended(self, now: float, code: int | None, last_words: str = "") -> Restart:
        """It ended with this code (negative: the signal), or was killed because it hung (None).

        `last_words` are the last line of its stderr.
        """
        if now - self._started > STEADY_AFTER or code == RENEW:
            self._failures = 0
        if code is None:
            self._careful = True
            self._left_out |= {self._asked} if self._asked is not None else set()
        self._asked = None
        delay = min(LONGEST, SHORTEST * 2**self._failures)
        self._failures = min(self._failures + 1, 16)
        return Restart(delay, f"{self._why(code, last_words)}: it is asked again in {delay:g} s")

    def _why(self, code: int | None, last_words: str) -> str:
        if code is None:
            return f"the NVIDIA driver did not answer for {self._patience:g} s"
        if code == RENEW:
            return "the NVIDIA driver was replaced"
        if code < 0:
            return f"the process that watches the cards crashed ({_signal_name(-code)})"
        return f"the process that watches the cards ended ({last_words or f'exit code {code}'})"


def _asked(line: bytes) -> int | None:
    try:
        return msgspec.json.decode(line, type=Asking).index
    except JSON_ERRORS:
        return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
