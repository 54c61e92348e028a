"""The scalars of a run for other programs: TensorBoard's event files, and a CSV file beside them.

What the disk refuses is kept and tried again; it never ends a run.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpu_studio.common.safe_files import open_regular, read_text
from gpu_studio.contract import RunDirectory, make_private_directory
from gpu_studio.contract.failure_texts import refusal_of_disk

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
