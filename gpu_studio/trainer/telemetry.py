"""What the loop reports: events for GPU Studio, and scalars for other programs.

The events go to the window and the command line. The scalars go to TensorBoard's event files,
and into a CSV file beside them.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import math
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_studio.common.safe_files import open_regular, read_text
from gpu_studio.contract import (
    Epoch,
    LearningRate,
    Memory,
    RunDirectory,
    Steps,
    TakesEvents,
    Warned,
    make_private_directory,
)
from gpu_studio.contract.events import Event
from gpu_studio.contract.failure_texts import refusal_of_disk

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


MOST_WAITING = 16 * 1024 * 1024
"""Bytes kept for a disk that takes no more; what comes after that is lost."""


class PatientFile:
    """A file that is only appended to, in whole pieces. Never raises for the disk.

    What the disk refuses is kept, in order, and tried again with each later piece. So the file
    always holds the beginning of what was written, except for whole pieces that were lost. `lost`
    gives the system's reason why some were; it is empty as long as none was.
    """

    def __init__(self, path: Path, *, new: bool = True) -> None:
        """A `new` file is begun anew; else what is there is added to."""
        self.lost = ""
        self._path, self._how = path, os.O_TRUNC if new else os.O_APPEND
        self._descriptor = -1
        self._waiting = bytearray()

    def write(self, piece: bytes) -> None:
        """Add `piece`."""
        refusal = self._drain() if self._waiting else ""
        if refusal and len(self._waiting) > MOST_WAITING:
            self.lost = refusal
            return
        self._waiting += piece
        self._drain()

    def close(self) -> None:
        """Write what still waits, if the disk takes it now, and close."""
        if refusal := self._drain():
            self.lost = refusal
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _drain(self) -> str:
        """Write what waits; return why not all of it could be written, empty if it could."""
        try:
            if self._descriptor < 0:
                make_private_directory(self._path.parent)
                how = os.O_WRONLY | os.O_CREAT | self._how
                self._descriptor = open_regular(self._path, how)
            while self._waiting:
                del self._waiting[: os.write(self._descriptor, self._waiting)]
        except OSError as error:
            return refusal_of_disk(error) or error.strerror or str(error)
        return ""


LARGEST_CSV = 256 * 1024 * 1024
COLUMNS = ("epoch", "step", "name", "value")


class Scalars:
    """Writes each scalar for TensorBoard and to the CSV.

    Never raises: a full disk costs scalars, not the run. Epochs that an earlier start of the run's
    processes has put into the CSV are not put there again.
    """

    def __init__(self, run: RunDirectory) -> None:
        self._written = _last_epoch(run.scalars_file)
        self._csv = PatientFile(run.scalars_file, new=self._written < 0)
        if self._written < 0:
            self._csv.write(_rows([COLUMNS]))
        self._board = _board(run)

    @property
    def for_tensorboard(self) -> bool:
        """Whether TensorBoard's package is installed, which writes its files."""
        return self._board is not None

    @property
    def lost(self) -> str:
        """Why some scalars were lost, in a few words; empty while none were."""
        return self._csv.lost or (self._board.lost if self._board else "")

    def steps(self, step: int, values: Mapping[str, float]) -> None:
        """Write the scalars of a call of training steps, for TensorBoard."""
        self._to_board("train", step, values)

    def epoch(self, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Write the scalars of an epoch, for both."""
        self._to_board("epoch", step, values)
        if epoch > self._written:
            rows = ((epoch, step, name, repr(value)) for name, value in values.items())
            self._csv.write(_rows(rows))

    def close(self) -> None:
        """Close both."""
        self._csv.close()
        if self._board is not None:
            self._board.close()

    def _to_board(self, group: str, step: int, values: Mapping[str, float]) -> None:
        if self._board is not None:
            self._board.add({f"{group}/{name}": value for name, value in values.items()}, step)


class _Board:
    """One event file for TensorBoard."""

    def __init__(self, run: RunDirectory) -> None:
        from gpu_studio.trainer import board_records

        self._records: Any = board_records
        self._file = PatientFile(board_records.new_file(run.tensorboard))
        self._file.write(board_records.header())

    @property
    def lost(self) -> str:
        return self._file.lost

    def add(self, values: Mapping[str, float], step: int) -> None:
        self._file.write(
            b"".join(self._records.scalar(name, value, step) for name, value in values.items())
        )

    def close(self) -> None:
        self._file.close()


def _board(run: RunDirectory) -> _Board | None:
    if importlib.util.find_spec("tensorboard") is None:
        return None
    try:
        return _Board(run)
    # A broken installation fails in many ways, and costs scalars only.
    except Exception:  # noqa: BLE001
        return None


def _last_epoch(path: Path) -> int:
    """The last epoch in a CSV of scalars; -1 if there is none."""
    try:
        lines = read_text(path, LARGEST_CSV).splitlines()
    except OSError:
        return -1
    first = lines[-1].partition(",")[0] if lines else ""
    return int(first) if first.isdecimal() else -1


def _rows(rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()
