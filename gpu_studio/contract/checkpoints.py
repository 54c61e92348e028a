"""The complete checkpoints of a run on disk, read without TensorFlow."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gpu_studio.common.regular_files import open_regular
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.files import read_json

STATE_FILE = "state.json"
WEIGHTS_FILE = "weights.npz"


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """A checkpoint on disk, written after `epoch` finished epochs and `step` global batches.

    `best` says that it was the best of its run by `monitor` when it was written, with `value`.
    """

    path: Path
    epoch: int
    step: int
    best: bool = False
    monitor: str | None = None
    value: float | None = None

    @property
    def name(self) -> str:
        """The name of its directory, `step-00000123`."""
        return self.path.name


class _State(msgspec.Struct):
    epoch: int
    step: int
    best: bool = False
    monitor: str | None = None
    value: float | None = None


_decoder = msgspec.json.Decoder(_State)


def checkpoints(run: RunDirectory) -> list[SavedCheckpoint]:
    """Return the complete checkpoints of `run`, the one with the fewest steps first.

    A checkpoint is written under a hidden name and renamed when it is complete; one whose files
    cannot be read is left out too.
    """
    if not run.checkpoints.is_dir():
        return []
    found = [_read(path) for path in run.checkpoints.iterdir() if not path.name.startswith(".")]
    return sorted((saved for saved in found if saved), key=lambda saved: (saved.step, saved.name))


def _read(path: Path) -> SavedCheckpoint | None:
    try:
        state = read_json(path / STATE_FILE, _decoder.decode)
        os.close(open_regular(path / WEIGHTS_FILE))
    except OSError:
        return None
    return SavedCheckpoint(path, state.epoch, state.step, state.best, state.monitor, state.value)
