"""What a trainer reports: the events of its run, in a file that outlasts a full disk.

`Telemetry` says what comes with each call of steps or by a clock, and hands its figures to the
scalars for other programs too.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from gpu_studio.common.safe_files import open_regular
from gpu_studio.common.steady import steady_seconds
from gpu_studio.contract import (
    Epoch,
    LearningRate,
    Log,
    Memory,
    RunDirectory,
    Steps,
    Warned,
    Workers,
)
from gpu_studio.contract.events import Event, encode
from gpu_studio.contract.failure_texts import LASTING
from gpu_studio.trainer.scalars import Scalars

if TYPE_CHECKING:
    from gpu_studio.trainer.devices import MemoryMeter

MEMORY_SECONDS = 0.5
SWITCH = "GPU_STUDIO_TELEMETRY"


def finite(values: Mapping[str, float]) -> dict[str, float | None]:
    """Return the values for an event, with None for each that is not a number."""
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def is_full() -> bool:
    """Return whether optional reports and measurements are on."""
    return os.environ.get(SWITCH, "on") != "off"


class TakesEvents(Protocol):
    """Whatever takes events: their file, or the process that writes it."""

    def write(self, event: Event) -> Event:
        """Take `event`, and return it as written."""


class Telemetry:
    """Events of steps, epochs, learning rate and memory.

    With `GPU_STUDIO_TELEMETRY=off`, only epochs are reported.
    """

    def __init__(
        self, run: RunDirectory, writer: TakesEvents, meter: MemoryMeter, *, writes: bool = True
    ) -> None:
        """`writes` says that this process writes the run's scalars."""
        self.full = is_full()
        self._writer = writer
        self._meter = meter
        self._scalars = Scalars(run) if self.full and writes else None
        self._reported_lost = False
        self._rate: float | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch_memory, name="memory", daemon=True)
        if self._scalars is not None and not self._scalars.for_tensorboard:
            self.tell(
                Warned(
                    message="No scalars for TensorBoard.",
                    suggestion="Install it: pip install tensorboard.",
                )
            )

    def start(self) -> None:
        """Start watching memory."""
        if self.full:
            self._meter.look_between_calls()
            self._thread.start()

    def close(self) -> None:
        """Stop watching, with a last look at the peaks, and close the scalars."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
            self._tell_memory()
        if self._scalars is not None:
            self._scalars.close()
            self._tell_lost_scalars(self._scalars)

    def tell(self, event: Event) -> None:
        """Write an event."""
        self._writer.write(event)

    def steps(self, event: Steps, rate: float | None) -> None:
        """Report a call of training steps; its first step used the learning `rate`, if it is known.

        No step runs meanwhile.
        """
        if not self.full:
            return
        self._meter.look_between_calls()
        self.tell(event)
        if rate is not None and rate != self._rate:
            self._rate = rate
            self.tell(LearningRate(step=event.first_step, value=rate))
        self._scalars_of(event, rate)

    def epoch(self, event: Epoch) -> None:
        """Report the end of an epoch."""
        self.tell(event)
        if self._scalars is not None:
            values = {name: value for name, value in event.metrics.items() if value is not None}
            self._scalars.epoch(event.epoch, event.step, values)
            self._tell_lost_scalars(self._scalars)

    def _scalars_of(self, event: Steps, rate: float | None) -> None:
        if self._scalars is None:
            return
        if rate is not None:
            self._scalars.steps(event.first_step, {"learning_rate": rate})
        values = {"loss": event.losses[-1], "samples_per_second": event.samples / event.seconds}
        last = event.first_step + len(event.losses) - 1
        self._scalars.steps(
            last, {name: value for name, value in values.items() if value is not None}
        )

    def _tell_lost_scalars(self, scalars: Scalars) -> None:
        if scalars.lost and not self._reported_lost:
            self._reported_lost = True
            message = (
                "Some scalars for TensorBoard and scalars.csv could not "
                f"be written: {scalars.lost}."
            )
            self.tell(
                Warned(
                    message=message,
                    suggestion="The run's own record, which is shown here, is kept.",
                )
            )

    def _watch_memory(self) -> None:
        self._tell_memory()
        while not self._over.wait(MEMORY_SECONDS):
            self._tell_memory()

    def _tell_memory(self) -> None:
        self.tell(Memory(devices=self._meter.sample()))


BACKLOG_BYTES = 64 * 1024 * 1024
_RETRY_SECONDS = 0.05
# The kinds to drop when the disk stays full until the backlog is full too.
_DISPENSABLE = (Steps, Memory, LearningRate, Log, Workers)


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
