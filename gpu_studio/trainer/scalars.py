"""The scalars of a run for other programs: TensorBoard's event files, and a CSV beside them."""

from __future__ import annotations

import csv
import importlib.util
import io
from collections.abc import Iterable, Mapping
from typing import Any

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.trainer.patient_file import PatientFile

COLUMNS = ("epoch", "step", "name", "value")


class Scalars:
    """Writes each scalar to both. Never raises: a full disk costs scalars, not the run."""

    def __init__(self, run: RunDirectory) -> None:
        self._csv = PatientFile(run.scalars_file)
        self._csv.write(_rows([COLUMNS]))
        self._board = _board(run)

    @property
    def for_tensorboard(self) -> bool:
        """Whether TensorBoard's package is there to write its files with."""
        return self._board is not None

    @property
    def lost(self) -> str:
        """Why some scalars were lost, in a few words; empty as long as none was."""
        return self._csv.lost or (self._board.lost if self._board else "")

    def steps(self, step: int, values: Mapping[str, float]) -> None:
        """Scalars of a call of training steps, for TensorBoard."""
        self._to_board("train", step, values)

    def epoch(self, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Scalars of an epoch, for both."""
        self._to_board("epoch", step, values)
        self._csv.write(_rows((epoch, step, name, repr(value)) for name, value in values.items()))

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
        self._file.write(b"".join(self._records.scalar(name, value, step) for name, value in values.items()))

    def close(self) -> None:
        self._file.close()


def _board(run: RunDirectory) -> _Board | None:
    if importlib.util.find_spec("tensorboard") is None:
        return None
    try:
        return _Board(run)
    except Exception:  # noqa: BLE001  (an installation that is broken has many ways to say so, and costs scalars only)
        return None


def _rows(rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()
