"""The scalars of a run for other programs: TensorBoard's event files, and a CSV beside them."""

from __future__ import annotations

import csv
import importlib.util
import os
from collections.abc import Mapping
from typing import Any

from gpu_studio.runs.directory import RunDirectory

COLUMNS = ("epoch", "step", "name", "value")


class Scalars:
    """Writes each scalar to both. Never raises: a full disk costs scalars, not the run."""

    def __init__(self, run: RunDirectory) -> None:
        self._board = _board(run)
        # Kept open for the life of the run, and closed by `close`.
        self._file = open(run.scalars_file, "w", newline="", opener=_private)  # noqa: SIM115
        self._csv = csv.writer(self._file)
        self._lost = False
        self._csv.writerow(COLUMNS)

    @property
    def for_tensorboard(self) -> bool:
        """Whether TensorBoard's package is there to write its files with."""
        return self._board is not None

    def steps(self, step: int, values: Mapping[str, float]) -> None:
        """Scalars of a call of training steps, for TensorBoard."""
        self._to_board("train", step, values)

    def epoch(self, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Scalars of an epoch, for both."""
        self._to_board("epoch", step, values)
        try:
            self._csv.writerows((epoch, step, name, repr(value)) for name, value in values.items())
            self._file.flush()
        except OSError:
            self._lost = True

    def close(self) -> bool:
        """Close both; whether everything was written."""
        try:
            self._file.close()
            if self._board is not None:
                self._board.close()
        except OSError:
            self._lost = True
        return not self._lost

    def _to_board(self, group: str, step: int, values: Mapping[str, float]) -> None:
        if self._board is None:
            return
        try:
            for name, value in values.items():
                self._board.add_scalar(f"{group}/{name}", value, step)
        except OSError:
            self._lost = True


def _board(run: RunDirectory) -> Any:
    # TensorBoard's own writer queues and writes on a thread: `tf.summary` costs the training loop twenty times as much.
    if importlib.util.find_spec("tensorboard") is None:
        return None
    from tensorboard.summary import Writer

    run.tensorboard.mkdir(mode=0o700, exist_ok=True)
    return Writer(str(run.tensorboard))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
