"""An answer of the driver, got through a process of its own: no driver can crash or hold up the one that asks."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence

from gpu_studio.own_processes import module_environment

LONGEST_DYING = 2.0
"""Seconds that a killed process may take to go. One stuck in the driver cannot be waited for: it goes when it can."""
_LONGEST_WORDS = 200


class NoAnswerError(Exception):
    """Why there is no answer, as a clause: "the NVIDIA driver did not answer within 10 s"."""


def answer_of(command: Sequence[str], timeout: float) -> bytes:
    """The last line that `command` prints: a driver may chatter before it.

    Takes at most `timeout` seconds and a little. Raises NoAnswerError if the process cannot be started, hangs, crashes,
    fails, or says nothing.
    """
    process = _started(command)
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        _kill(process)
        raise NoAnswerError(f"the NVIDIA driver did not answer within {timeout:g} s") from None
    return _answer(process.returncode, output, errors)


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


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    try:
        process.communicate(timeout=LONGEST_DYING)
    except subprocess.TimeoutExpired:
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()
