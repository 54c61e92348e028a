"""Get the machine's inventory from a separate process."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from gpu_studio.common.processes import (
    Interrupts,
    held_interrupts,
    module_command,
    module_environment,
)
from gpu_studio.contract import JSON_ERRORS
from gpu_studio.hardware.host import cpu_cores, cpu_name, memory_mib
from gpu_studio.plan import Machine

LOOK_EVERY = 0.1
"""Seconds between looks whether Ctrl+C was pressed."""
LONGEST_DYING = 2.0
"""Seconds that a killed process may take to go.

One stuck in the driver cannot be waited for: it goes when it can.
"""
_LONGEST_WORDS = 200


class NoAnswerError(Exception):
    """Why there is no answer, as a clause: "the NVIDIA driver did not answer within 10 s"."""


def answer_of(command: Sequence[str], timeout: float) -> bytes:
    """The last line that `command` prints: a driver may print other lines before it.

    Takes slightly more than `timeout` seconds at most. Raises NoAnswerError if the process cannot
    be started, hangs, crashes, fails, or prints nothing; and KeyboardInterrupt after Ctrl+C, once
    the process is gone.
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


def _communicate(
    process: subprocess.Popen[bytes], end: float, interrupts: Interrupts | None
) -> tuple[bytes, bytes]:
    """The process's output and errors. Raises TimeoutExpired and KeyboardInterrupt."""
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
    """Make sure that the process has ended."""
    if process.poll() is not None:
        return
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(LONGEST_DYING)
    for stream in (process.stdout, process.stderr):
        if stream:
            stream.close()


COMMAND = tuple(module_command("gpu_studio.hardware"))
WITH_USERS = (*COMMAND, "--users")
"""Also asks who uses the cards, which takes the driver longer."""


class InventoryError(ValueError):
    """An answer that is not an inventory."""


def inventory(timeout: float = 10.0, command: Sequence[str] = COMMAND) -> Machine:
    """The inventory of this machine. Takes slightly more than `timeout` seconds at most.

    Raises nothing. If the driver crashes, hangs or answers nonsense, the machine has no cards and
    `why_no_cards` says what happened.
    """
    try:
        return parse_inventory(answer_of(command, timeout).decode("utf-8", "replace"))
    except NoAnswerError as error:
        return _without_cards(str(error))
    except InventoryError as error:
        return _without_cards(f"asking the NVIDIA driver failed ({error})")


def parse_inventory(text: str) -> Machine:
    """Parse the output of `python -m gpu_studio.hardware`. Raises InventoryError if it is none."""
    lines = text.strip().splitlines()
    if not lines:
        raise InventoryError("the answer is empty")
    try:
        # The last line: a driver may have printed others before it.
        return msgspec.json.decode(lines[-1].encode("utf-8", "replace"), type=Machine)
    except JSON_ERRORS as error:
        raise InventoryError(f"the answer is no inventory: {error}") from error


def _without_cards(why: str) -> Machine:
    return Machine(
        cpu_cores=cpu_cores(), memory_mib=memory_mib(), cpu_name=cpu_name(), why_no_cards=why
    )
