"""An answer of the driver, got through a process of its own: no driver can crash or hold up the one that asks."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress

from gpu_studio.interrupts import Interrupts, held_interrupts
from gpu_studio.own_processes import module_environment

LOOK_EVERY = 0.1
"""Seconds between looks whether Ctrl+C was pressed."""
LONGEST_DYING = 2.0
"""Seconds that a killed process may take to go. One stuck in the driver cannot be waited for: it goes when it can."""
_LONGEST_WORDS = 200


class NoAnswerError(Exception):
    """Why there is no answer, as a clause: "the NVIDIA driver did not answer within 10 s"."""


def answer_of(command: Sequence[str], timeout: float) -> bytes:
    """The last line that `command` prints: a driver may chatter before it.

    Takes at most `timeout` seconds and a little. Raises NoAnswerError if the process cannot be started, hangs, crashes,
    fails, or says nothing; and KeyboardInterrupt at Ctrl+C, whenever it comes, once the process is gone.
    """
    with held_interrupts() as interrupts:
        process = _started(command)
        try:
            output, errors = _communicate(process, time.monotonic() + timeout, interrupts)
        except subprocess.TimeoutExpired:
            raise NoAnswerError(f"the NVIDIA driver did not answer within {timeout:g} s") from None
        finally:
            _end(process)
    return _answer(process.returncode, output, errors)


def _communicate(process: subprocess.Popen[bytes], end: float, interrupts: Interrupts | None) -> tuple[bytes, bytes]:
    """What the process says and complains of. Raises TimeoutExpired, and KeyboardInterrupt."""
    while True:
        left = max(0.0, end - time.monotonic())
        try:
            return process.communicate(timeout=min(left, LOOK_EVERY))
        except subprocess.TimeoutExpired:
            if interrupts is not None and interrupts.came:
                raise KeyboardInterrupt from None
            if left <= LOOK_EVERY:
                raise


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            env=module_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        words = f"the process that asks the NVIDIA driver could not be started ({error.strerror})"
        raise NoAnswerError(words) from error


def _answer(code: int, output: bytes, errors: bytes) -> bytes:
    if code < 0:
        raise NoAnswerError(f"asking the NVIDIA driver ended in a crash ({_signal_name(-code)})")
    lines = output.strip().splitlines()
    if code > 0 or not lines:
        why = _last_line(errors) or (f"exit code {code}" if code else "the answer is empty")
        raise NoAnswerError(f"asking the NVIDIA driver failed ({why})")
    return lines[-1]


def _last_line(errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:_LONGEST_WORDS] if lines else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Have the process gone, if it is not yet."""
    if process.poll() is not None:
        return
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(LONGEST_DYING)
    for stream in (process.stdout, process.stderr):
        if stream:
            stream.close()
