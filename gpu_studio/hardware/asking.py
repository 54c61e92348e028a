"""What the machine has, asked of a process of its own, so that no driver can crash or hold up this one."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence

import msgspec

from gpu_studio.hardware.host import cpu_cores, cpu_name, memory_mib
from gpu_studio.own_processes import module_command, module_environment
from gpu_studio.plan.machine import Machine

COMMAND = tuple(module_command("gpu_studio.hardware"))
LONGEST_DYING = 2.0
"""Seconds that a killed process may take to go. One stuck in the driver cannot be waited for: it goes when it can."""


class InventoryError(ValueError):
    """An answer that is no inventory."""


def inventory(timeout: float = 10.0, command: Sequence[str] = COMMAND) -> Machine:
    """What this machine has. Takes at most `timeout` seconds and a little, and raises nothing.

    If the driver crashes, hangs or answers nonsense, the machine has no cards and `why_no_cards` says what happened.
    """
    try:
        process = subprocess.Popen(
            command,
            env=module_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        return _without_cards(f"the process that asks the NVIDIA driver could not be started ({error.strerror})")
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        _kill(process)
        return _without_cards(f"the NVIDIA driver did not answer within {timeout:g} s")
    return _machine(process.returncode, output, errors)


def parse_inventory(text: str) -> Machine:
    """The machine that `python -m gpu_studio.hardware` printed. Raises InventoryError if it is none."""
    lines = text.strip().splitlines()
    if not lines:
        raise InventoryError("the answer is empty")
    try:
        # The last line: a driver may have chattered before it.
        return msgspec.json.decode(lines[-1].encode("utf-8", "replace"), type=Machine)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InventoryError(f"the answer is no inventory: {error}") from error


def _machine(code: int, output: bytes, errors: bytes) -> Machine:
    if code < 0:
        return _without_cards(f"asking the NVIDIA driver ended in a crash ({_signal_name(-code)})")
    if code > 0:
        return _without_cards(f"asking the NVIDIA driver failed ({_last_line(errors) or f'exit code {code}'})")
    try:
        return parse_inventory(output.decode("utf-8", "replace"))
    except InventoryError as error:
        return _without_cards(f"asking the NVIDIA driver failed ({error})")


def _without_cards(why: str) -> Machine:
    return Machine(cpu_cores=cpu_cores(), memory_mib=memory_mib(), cpu_name=cpu_name(), why_no_cards=why)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    try:
        process.communicate(timeout=LONGEST_DYING)
    except subprocess.TimeoutExpired:
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else ""
