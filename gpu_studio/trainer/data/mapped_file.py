"""A file from which arrays are mapped: it is read as its numbers are needed, and must stay as it is until then."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import numpy as np

from gpu_studio.trainer.data.values import Array
from gpu_studio.trainer.errors import DataError


class MappedFile:
    """An open file, and what it was like when it was opened.

    To touch numbers that a file no longer has would end the process by a signal, and numbers written meanwhile would be
    trained on without a word: `check` comes first. A file that another one took the name of is still there.
    """

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, os.fdopen(os.dup(file.fileno()), "rb")
        self._was = self._state()

    def array(self, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int) -> Array:
        """The numbers from byte `offset` on. Raises ValueError or OSError where the file does not hold so many."""
        return np.asarray(np.memmap(self._file, dtype, "r", offset, shape))

    def check(self) -> None:
        """Raises DataError once the file was changed."""
        if self._state() != self._was:
            raise DataError(
                f"{self._path} was changed while the run was reading it.",
                [
                    "Train it as a new run, once nothing writes to the file any more.",
                    "Write new data under another name, then rename that file: a run under way keeps the old one.",
                ],
            )

    def _state(self) -> tuple[int, int]:
        found = os.fstat(self._file.fileno())
        return found.st_size, found.st_mtime_ns
