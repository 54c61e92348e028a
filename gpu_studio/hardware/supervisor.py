"""Owns a sampler process: starts it, reads it, and restarts it when it dies or hangs."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Sequence
from typing import IO, Any, Self

import msgspec

from gpu_studio.contract.samples import Owner, encode
from gpu_studio.hardware.supervision import Watchdog, sampler_command, sampler_environment

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
