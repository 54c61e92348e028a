"""Where a worker of a live run is in its code: asked by a signal, and read from its log.

Its process writes the stack of each of its threads (`faulthandler`), also while it is stuck inside
TensorFlow, and goes on.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Final

from gpu_studio.common.safe_files import opened
from gpu_studio.contract import RunDirectory, cluster_file, kernel
from gpu_studio.contract.cluster_file import ClusterMember
from gpu_studio.hosts import slurm

PATIENCE_S: Final = 10.0
SETTLED_S: Final = 0.3
"""A stack is written at once: so long after its last byte nothing more of it comes."""
_TICK_S: Final = 0.05
_MOST: Final = 1 << 20


class StackError(Exception):
    """The stack of a worker cannot be had, in a sentence."""


def stack_of(run: RunDirectory, title: str, cancelled: threading.Event | None = None) -> str:
    """What the process `title`, such as `worker 1`, does now; waits for it. Raises StackError."""
    known = cluster_file.read(run)
    member = next((each for each in known.members if each.title == title), None) if known else None
    if known is None or member is None:
        raise StackError(f"It is not known which process {title} is.")
    log = RunDirectory(run.path / member.folder).log_file
    before = _size(log)
    _signal(member, known.job)
    if text := _text_of(log, before, cancelled or threading.Event()):
        return text
    raise StackError(
        f"{_capital(title)} did not write where it is in {PATIENCE_S:.0f} s: it is stopped by a "
        "signal, or it waits for a disk or a card."
    )


def _signal(member: ClusterMember, job: str) -> None:
    if job:
        try:
            slurm.run(["scancel", "--signal=USR2", job])
        except slurm.SlurmError as error:
            raise StackError(f"Slurm does not reach the worker: {error}.") from error
        return
    if member.host != os.uname().nodename:
        raise StackError(f"{_capital(member.title)} is on another machine, {member.host}.")
    same = member.boot == kernel.boot_id() and member.started == kernel.started(member.pid)
    if member.started is None or not same:
        raise StackError(f"{_capital(member.title)} has ended.")
    try:
        os.kill(member.pid, signal.SIGUSR2)
    except OSError as error:
        said = f"{_capital(member.title)} takes no signal: {error.strerror}."
        raise StackError(said) from error


def _capital(title: str) -> str:
    return f"{title[:1].upper()}{title[1:]}"


def _text_of(log: Path, before: int, cancelled: threading.Event) -> str:
    """What the log has got since it had `before` bytes, once it grows no more."""
    end, size, since = time.monotonic() + PATIENCE_S, before, 0.0
    while time.monotonic() < end and not cancelled.wait(_TICK_S):
        now = _size(log)
        if now != size:
            size, since = now, time.monotonic()
        elif since and time.monotonic() - since > SETTLED_S:
            break
    if size <= before:
        return ""
    with opened(log) as file:
        file.seek(before)
        return file.read(_MOST).decode("utf-8", "replace").strip()


def _size(log: Path) -> int:
    try:
        with opened(log) as file:
            return file.seek(0, os.SEEK_END)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise StackError(f"Its log cannot be read: {error.strerror or error}.") from error
