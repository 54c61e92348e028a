"""Checkpoints, written by a thread of their own.

Each is written under a temporary name and renamed when it is complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gpu_studio import plan
from gpu_studio.common.safe_files import open_regular, opened
from gpu_studio.contract import (
    STATE_FILE,
    WEIGHTS_FILE,
    Checkpoint,
    Warned,
    make_own_directory,
    read_json,
)
from gpu_studio.contract.events import Event
from gpu_studio.contract.failure_texts import advice_for
from gpu_studio.trainer.errors import TrainerError
from gpu_studio.trainer.progress import Monitor, TrainingProgress

Arrays = Mapping[str, np.ndarray]
Judged = tuple[str, float | None]
"""The monitor that judges a checkpoint, and its value."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A moment of a run in host memory. `value` is the monitored metric's, at an epoch's end.

    `monitor` is what judges it, if not the plan's. `at_end`: what the end of training has left,
    after which the same step has other weights than before it.
    """

    progress: TrainingProgress
    arrays: Arrays
    identity: Mapping[str, Any] = field(default_factory=dict)
    value: float | None = None
    monitor: str = ""
    at_end: bool = False

    @property
    def name(self) -> str:
        """The name of its directory."""
        return _name(self.progress.step) + (_END if self.at_end else "")


_END = "-end"


def _name(step: int) -> str:
    return f"step-{step:08d}"


class Keeps(Protocol):
    """What the loop asks of whoever keeps its checkpoints."""

    def save(self, snapshot: Snapshot) -> None:
        """Keep this moment."""

    def wait(self) -> None:
        """Until what was saved is kept."""

    def has(self, step: int) -> bool:
        """Return whether this step is kept."""

    def close(self) -> None:
        """Accept no more."""


class Elsewhere:
    """Another process of the run keeps its checkpoints."""

    def save(self, snapshot: Snapshot) -> None:
        """The other one has the same moment."""

    def wait(self) -> None:
        """Nothing is written here."""

    def has(self, step: int) -> bool:
        """The other one tells whether it has."""
        del step
        return True

    def close(self) -> None:
        """Nothing is open."""


class Checkpoints:
    """The checkpoints of one run: the last `keep`, and the best by the plan's monitor.

    `find` says where their directory is by now: a folder of a run may be moved while it trains.
    """

    def __init__(
        self,
        directory: Path,
        settings: plan.CheckpointSettings,
        tell: Callable[[Event], object],
        find: Callable[[], Path] | None = None,
    ) -> None:
        self._find = find or (lambda: directory)
        self._settings = settings
        self._tell = tell
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoints")
        self._last: Future[None] | None = None
        with suppress(
            OSError
        ):  # a disk that is full now need not be so when the first checkpoint is written
            make_own_directory(directory)
        self._kept = _judged_on_disk(directory, settings.monitor)

    def save(self, snapshot: Snapshot) -> None:
        """Write `snapshot` in the background.

        Waits for the write before it, so that at most one snapshot is held in memory.
        """
        self.wait()
        self._last = self._writer.submit(self._write, snapshot)

    def wait(self) -> None:
        """Until what was saved is on disk."""
        if self._last is not None:
            self._last.result()
            self._last = None

    def has(self, step: int) -> bool:
        """Return whether there is a checkpoint of this step: the disk may have refused it.

        Waits until what was saved is on disk.
        """
        self.wait()
        return bool({_name(step), _name(step) + _END} & self._kept.keys())

    def close(self) -> None:
        """Wait for the last write, and accept no more."""
        self.wait()
        self._writer.shutdown()

    def _write(self, snapshot: Snapshot) -> None:
        # The loss before the last update was finite; the weights after it need not be. Resuming
        # from them is pointless, and they would push out a useful checkpoint. Infinite
        # weights may be intended, as in a mask.
        broken = next(
            (name for name, array in snapshot.arrays.items() if _is_broken(name, array)), None
        )
        if broken is not None:
            advice = "Make training.learning_rate smaller; the checkpoints from before are kept."
            message = (
                f"The checkpoint {snapshot.name} was not written: {broken} holds "
                "values that are no numbers (nan)."
            )
            self._tell(Warned(message=message, suggestion=advice))
            return
        # A full disk costs this checkpoint, not the run.
        try:
            self._tell(self._written(snapshot))
        except OSError as error:
            advice = f"The next checkpoint is tried again. {advice_for(str(error))}"
            self._tell(
                Warned(
                    message=f"The checkpoint {snapshot.name} could not be written: {error}.",
                    suggestion=advice,
                )
            )

    def _written(self, snapshot: Snapshot) -> Checkpoint:
        began = time.perf_counter()
        monitor = snapshot.monitor or self._settings.monitor
        kept = {name: each for name, each in self._kept.items() if name != snapshot.name}
        kept[snapshot.name] = monitor, snapshot.value
        best = self._best_of(kept) == snapshot.name
        state = {
            **snapshot.progress.as_dict(),
            "best_value": snapshot.progress.best,
            "best": best,
            "monitor": monitor,
            "value": snapshot.value,
            "at_end": snapshot.at_end,
            **snapshot.identity,
        }
        directory = self._find()
        make_own_directory(directory)
        size = write_whole(directory / snapshot.name, state, snapshot.arrays)
        self._kept = kept
        return Checkpoint(
            name=snapshot.name,
            epoch=snapshot.progress.epoch,
            step=snapshot.progress.step,
            bytes=size,
            seconds=time.perf_counter() - began,
            best=best,
            value=snapshot.value,
            removed=self._remove_old(),
        )

    def _best_of(self, kept: Mapping[str, Judged]) -> str | None:
        """The best of these checkpoints: by the plan's monitor if it has judged any of them."""
        judged = [(name, by, value) for name, (by, value) in kept.items() if value is not None]
        if not judged:
            return None
        asked = self._settings.monitor
        counts = asked if any(by == asked for _, by, _ in judged) else judged[-1][1]
        sign = Monitor(counts).sign
        alike = [(name, sign * value) for name, by, value in judged if by == counts]
        return min(alike, key=lambda each: each[1])[0]

    def _remove_old(self) -> list[str]:
        best = self._best_of(self._kept)
        names = list(self._kept)
        # What the end has left is one more: from the one before it, a run is resumed.
        last = names[-self._settings.keep - names[-1].endswith(_END) :]
        removed = [name for name in self._kept if name not in last and name != best]
        for name in removed:
            del self._kept[name]
            _remove(self._find() / name)
        return removed


def write_whole(path: Path, state: Mapping[str, Any], arrays: Arrays) -> int:
    """Write a checkpoint so that `path` is there only if it is complete; its size in bytes.

    Raises OSError.
    """
    temporary = path.with_name(f".tmp-{path.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(mode=0o700)
    try:
        weights: dict[str, Any] = dict(arrays)
        _write_file(temporary / WEIGHTS_FILE, lambda file: np.savez(file, **weights))
        _write_file(
            temporary / STATE_FILE, lambda file: file.write(json.dumps(state, indent=1).encode())
        )
        size = sum(entry.stat().st_size for entry in temporary.iterdir())
        if path.exists():
            _remove(path)
        temporary.rename(path)
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    _synchronise_directory(path.parent)
    return size


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The state and the arrays of a checkpoint.

    Raises TrainerError if it cannot be read; nothing is unpickled.
    """
    try:
        state = read_json(path / STATE_FILE, json.loads)
        with opened(path / WEIGHTS_FILE) as file, np.load(file, allow_pickle=False) as archive:
            return state, {name: archive[name] for name in archive.files}
    except Exception as error:  # zipfile, zlib, json, numpy and the disk each have their own
        raise TrainerError(
            f"The checkpoint {path.name} cannot be read: {error}.",
            ["Resume from an earlier checkpoint of the run.", "Or train from the beginning."],
        ) from error


def weight_prints(arrays: Arrays) -> dict[str, bytes]:
    """Return a digest of each of the model's weights, by name, to see whether any has changed."""
    return {
        name: hashlib.blake2b(np.ascontiguousarray(array).tobytes()).digest()
        for name, array in arrays.items()
        if name.startswith("model/")
    }


def _is_broken(name: str, array: np.ndarray) -> bool:
    return name.startswith("model/") and array.dtype.kind == "f" and bool(np.isnan(array).any())


def _write_file(path: Path, write: Callable[[Any], object]) -> None:
    descriptor = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(descriptor, "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())


def _synchronise_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    # Renamed first: a half-removed checkpoint must not look complete.
    dying = path.with_name(f".old-{path.name}")
    shutil.rmtree(dying, ignore_errors=True)
    try:
        path.rename(dying)
    except OSError:
        return
    shutil.rmtree(dying, ignore_errors=True)


def _judged_on_disk(directory: Path, monitor: str) -> dict[str, Judged]:
    """Each checkpoint's name with what judges it: `monitor` where it does not say."""
    judged: dict[str, Judged] = {}
    for file in sorted(directory.glob(f"step-*/{STATE_FILE}")):
        try:
            state = read_json(file, json.loads)
        except OSError:
            continue
        judged[file.parent.name] = str(state.get("monitor") or monitor), state.get("value")
    return judged
