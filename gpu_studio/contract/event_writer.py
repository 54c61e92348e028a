"""The trainer's writer of `events.jsonl`, which outlasts a full disk."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from gpu_studio.common.safe_files import open_regular
from gpu_studio.common.steady import steady_seconds
from gpu_studio.contract.events import (
    Event,
    LearningRate,
    Log,
    Memory,
    Steps,
    Warned,
    Workers,
    encode,
)
from gpu_studio.contract.failure_texts import LASTING

BACKLOG_BYTES = 64 * 1024 * 1024
_RETRY_SECONDS = 0.05
# The kinds to drop when the disk stays full until the backlog is full too.
_DISPENSABLE = (Steps, Memory, LearningRate, Log, Workers)


class TakesEvents(Protocol):
    """Whatever events are told to: their file, or the process that writes it."""

    def write(self, event: Event) -> Event:
        """Take `event`, and return it as written."""


class EventWriter:
    """Appends events as whole lines, numbered from 0 without gaps. Any thread may write.

    A full disk must not end the training: lines that cannot be written are kept in memory, in
    order, and retried with each later one. Once more than `backlog` bytes are kept, steps, memory
    and log lines are dropped *before* they get a number, and a warning gives their count once there
    is space.

    Raises FileExistsError if the file already holds events: a run directory belongs to one trainer
    process.
    """

    def __init__(self, path: Path, backlog: int = BACKLOG_BYTES) -> None:
        self._descriptor = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._refuse_used(path)
        self._lock = threading.Lock()
        self._sequence = 0
        self._began = steady_seconds()
        self._pending: deque[bytes] = deque()
        self._pending_bytes = 0
        self._backlog = backlog
        self._given_up = 0
        self._refusal = 0

    @property
    def refusal(self) -> str:
        """Why the disk refuses writes, in the system's words; empty if the last write succeeded."""
        return os.strerror(self._refusal) if self._refusal else ""

    @property
    def pending(self) -> int:
        """The number of lines that wait in memory for space on the disk."""
        return len(self._pending)

    def write(self, event: Event) -> Event:
        """Append `event` and return it as written, with its `seq`, `time` and `elapsed`.

        A dropped event comes back with `seq` -1. Raises ValueError after `close`.
        """
        with self._lock:
            if self._descriptor < 0:
                raise ValueError("The events of this run are closed.")
            self._drain()
            if self._pending_bytes > self._backlog and isinstance(event, _DISPENSABLE):
                self._given_up += 1
                return event
            self._tell_given_up()
            return self._append(event)

    def close(self, timeout: float = 5.0, hurried: Callable[[], bool] = lambda: False) -> bool:
        """Write what is pending, for at most `timeout` seconds, and close.

        Return whether all is on disk. Other threads may write or close meanwhile. There is no
        further waiting once `hurried` returns true, nor for a disk on which waiting cannot help,
        such as a read-only one.
        """
        end = time.monotonic() + timeout
        while self._waits() and time.monotonic() < end and not hurried():
            time.sleep(_RETRY_SECONDS)
        with self._lock:
            if self._descriptor >= 0:
                self._synchronise()
                os.close(self._descriptor)
                self._descriptor = -1
            return not self._pending

    def _waits(self) -> bool:
        """Try to write; return whether anything is left that may yet be written."""
        with self._lock:
            if self._descriptor >= 0:
                self._drain()
                return bool(self._pending) and self._refusal not in LASTING
            return False

    def _refuse_used(self, path: Path) -> None:
        if os.fstat(self._descriptor).st_size:
            os.close(self._descriptor)
            raise FileExistsError(
                f"{path} already holds the events of a run: start a new run, or resume this one."
            )

    def _append(self, event: Event) -> Event:
        elapsed = round(steady_seconds() - self._began, 6)
        numbered = msgspec.structs.replace(
            event, seq=self._sequence, time=time.time(), elapsed=elapsed
        )
        line = encode(numbered)
        self._sequence += 1
        self._pending.append(line)
        self._pending_bytes += len(line)
        self._drain()
        return numbered

    def _tell_given_up(self) -> None:
        if self._given_up and not self._pending:
            count, self._given_up = self._given_up, 0
            self._append(
                Warned(message=f"The disk was full: {count} events of this run could not be kept.")
            )

    def _drain(self) -> None:
        while self._pending:
            line = self._pending[0]
            try:
                written = os.write(self._descriptor, line)
            except OSError as error:
                self._refusal = error.errno or 0
                return
            self._refusal = 0
            self._pending_bytes -= written
            # The rest of a partly written line stays first, so that a later write completes it.
            self._pending.popleft()
            if written < len(line):
                self._pending.appendleft(line[written:])

    def _synchronise(self) -> None:
        try:
            os.fsync(self._descriptor)
        except OSError:
            return
