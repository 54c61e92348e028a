"""The run directory: its files, how a new one is created, its checkpoints, requests to its trainer.

The complete checkpoints are read without TensorFlow. A resumed run takes over one of its
parent's, with a note about it in `resume.json`. Requests are one JSON object per line of
`commands.jsonl`, which the trainer polls.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from gpu_studio.common.safe_files import open_regular, opened
from gpu_studio.contract.files import (
    JSON_ERRORS,
    PRIVATE_DIRECTORY,
    Tail,
    append_line,
    json_line,
    make_private_directory,
    read_json,
    write_private,
)
from gpu_studio.contract.numbers import Moment, Whole
from gpu_studio.contract.slugs import slug

if TYPE_CHECKING:
    from gpu_studio.plan import AbsolutePlan

ID_TIME: Final = "%Y%m%dT%H%M%SZ"
_ID: Final = re.compile(r"[0-9]{8}T[0-9]{6}Z-")
_SET_BACK: Final = timedelta(days=1)
"""A clock that the system had wrong at its start is off by hours: further ahead, an id is wrong."""
HIDDEN = ".new-"


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The files of one run; asking for a name does not touch the disk."""

    path: Path

    @property
    def id(self) -> str:
        """The directory's name: UTC time, slug of the plan's name, four hexadecimal digits."""
        return self.path.name

    @property
    def plan_file(self) -> Path:
        """The plan exactly as it was run."""
        return self.path / "plan.toml"

    def load_plan(self) -> AbsolutePlan:
        """Read the plan for who opens its files. Raises PlanError."""
        # Imported when it is first needed: most who look at runs read no plan.
        from gpu_studio.plan import load, with_absolute_files

        return with_absolute_files(load(self.plan_file), self.path)

    @property
    def events_file(self) -> Path:
        """The trainer's events, one per line."""
        return self.path / "events.jsonl"

    @property
    def hardware_file(self) -> Path:
        """Samples of the physical devices while the run lives."""
        return self.path / "hardware.jsonl"

    @property
    def commands_file(self) -> Path:
        """Requests to the trainer."""
        return self.path / "commands.jsonl"

    @property
    def log_file(self) -> Path:
        """The standard output and error of the trainer process."""
        return self.path / "trainer.log"

    @property
    def lock_file(self) -> Path:
        """Held by the trainer for as long as it lives."""
        return self.path / "trainer.lock"

    @property
    def checkpoints(self) -> Path:
        """The directory of the checkpoints, each a directory `step-00000123`."""
        return self.path / "checkpoints"

    @property
    def tensorboard(self) -> Path:
        """The directory of the scalars for TensorBoard."""
        return self.path / "tensorboard"

    @property
    def scalars_file(self) -> Path:
        """The same scalars as a CSV."""
        return self.path / "scalars.csv"

    @property
    def resume_file(self) -> Path:
        """The run and checkpoint that this run resumes from.

        Absent in a run that started afresh.
        """
        return self.path / "resume.json"

    @property
    def cluster_file(self) -> Path:
        """The processes that take part; absent in a run of a single one."""
        return self.path / "cluster.json"

    def of_worker(self, attempt: int, role: str, index: int) -> RunDirectory:
        """The files of another process of the run in its `attempt`th start, from 0.

        Those of worker 0 are the run's own.
        """
        return RunDirectory(self.path / "workers" / f"{attempt}-{role}-{index}")

    @property
    def prediction_file(self) -> Path:
        """What was predicted for this run when it started; absent if nothing was known."""
        return self.path / "prediction.json"

    @property
    def queued_file(self) -> Path:
        """The queue entry that this run came from; absent in a run that was started by hand."""
        return self.path / "queued"

    @property
    def study_file(self) -> Path:
        """The note of the study that the run is of; there is none for others."""
        return self.path / "study.json"

    @property
    def evaluations_file(self) -> Path:
        """Evaluations of its checkpoints; absent until there is one."""
        return self.path / "evaluations.jsonl"

    @property
    def reported_file(self) -> Path:
        """Marks that the end of the run was reported.

        The file is empty if a window reported the end or showed the run then; otherwise a terminal
        reported it.
        """
        return self.path / "end-told"

    def exists(self) -> bool:
        """Whether the directory is there."""
        return self.path.is_dir()

    @classmethod
    def create(cls, runs: Path, name: str) -> RunDirectory:
        """Make the directory of a new run of the plan called `name` under `runs`, 0700.

        Raises OSError if it cannot be made.
        """
        return cls.prepare(runs, name).publish()

    @classmethod
    def prepare(cls, runs: Path, name: str) -> RunDirectory:
        """Create a new run's directory under a hidden name, which run lists ignore.

        `publish` gives it its final name.
        """
        make_private_directory(runs)
        while True:
            name_of_run = new_id(name, runs)
            path = runs / f"{HIDDEN}{name_of_run}"
            if (runs / name_of_run).exists():  # two of one second may draw the same
                continue
            try:
                path.mkdir(mode=PRIVATE_DIRECTORY)
            except FileExistsError:
                continue
            except OSError as error:
                error.filename = str(runs)  # which a person knows, and can change
                raise
            return cls(path)

    def publish(self) -> RunDirectory:
        """Rename a prepared directory, with all its content, to its final name."""
        return RunDirectory(self.path.rename(self.path.with_name(self.id.removeprefix(HIDDEN))))


def new_id(name: str, runs: Path | None = None) -> str:
    """Return a unique name for a run of the plan `name`, to be made under `runs`.

    Names sort by time and say what the run is. Where the clock was set back, by a day at most, the
    new one follows the newest run all the same.
    """
    now = datetime.now(UTC)
    newest = None if runs is None else _newest(runs, now + _SET_BACK)
    if newest is not None and newest > now:
        now = newest + timedelta(seconds=1)
    return f"{now:{ID_TIME}}-{slug(name)}-{secrets.token_hex(2)}"


def _newest(runs: Path, before: datetime) -> datetime | None:
    """The time in the id of the newest run under `runs` that is no later; None if there is none."""
    last = f"{before:{ID_TIME}}"
    with os.scandir(runs) as entries:
        found = [each.name for each in entries if _ID.match(each.name) and each.name < last]
    with suppress(ValueError):
        return datetime.strptime(max(found).partition("-")[0], ID_TIME).replace(tzinfo=UTC)
    return None


STATE_FILE = "state.json"
WEIGHTS_FILE = "weights.npz"


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """A checkpoint on disk, written after `epoch` finished epochs and `step` global batches.

    `best` says that it was the best of its run by `monitor` when it was written, with `value`.
    `xla` is whether XLA compiled the steps; None in those of an older GPU Studio.
    """

    path: Path
    epoch: Whole
    step: Whole
    best: bool = False
    monitor: str | None = None
    value: float | None = None
    at_end: bool = False
    xla: bool | None = None

    @property
    def name(self) -> str:
        """The name of its directory, `step-00000123`."""
        return self.path.name


class _State(msgspec.Struct):
    epoch: Whole
    step: Whole
    best: bool = False
    monitor: str | None = None
    value: float | None = None
    at_end: bool = False
    xla: bool | None = None


_state_decoder = msgspec.json.Decoder(_State)


def checkpoints(run: RunDirectory) -> list[SavedCheckpoint]:
    """Return the complete checkpoints of `run`, the one with the fewest steps first.

    A checkpoint is written under a hidden name and renamed when it is complete; one whose files
    cannot be read is left out too.
    """
    if not run.checkpoints.is_dir():
        return []
    found = [_saved_at(path) for path in run.checkpoints.iterdir() if not path.name.startswith(".")]
    return sorted((saved for saved in found if saved), key=lambda saved: (saved.step, saved.name))


def _saved_at(path: Path) -> SavedCheckpoint | None:
    try:
        state = read_json(path / STATE_FILE, _state_decoder.decode)
        os.close(open_regular(path / WEIGHTS_FILE))
    except OSError:
        return None
    return SavedCheckpoint(path, *msgspec.structs.astuple(state))


def to_go_on_from(saved: Sequence[SavedCheckpoint]) -> SavedCheckpoint | None:
    """Return the newest of some checkpoints from which a run goes on as if it had not stopped.

    What the end of a training has left has other weights than those that were trained last.
    """
    exact = [each for each in saved if not each.at_end] or saved
    return exact[-1] if exact else None


@dataclass(frozen=True, slots=True)
class Resume:
    """A run to resume, and the checkpoint to resume it from."""

    run: RunDirectory
    checkpoint: SavedCheckpoint


class ResumedFrom(msgspec.Struct, frozen=True):
    """The content of `resume.json`: the id of the parent run, its checkpoint and its progress."""

    run: str
    checkpoint: str
    epoch: Whole = 0
    step: Whole = 0


_note_decoder = msgspec.json.Decoder(ResumedFrom)


def pass_on(resume: Resume, successor: RunDirectory) -> None:
    """Put the checkpoint and the note into the new run's directory.

    Raises OSError if that fails.
    """
    saved = resume.checkpoint
    folder = successor.checkpoints / saved.name
    successor.checkpoints.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
    folder.mkdir(mode=PRIVATE_DIRECTORY)
    # Only these two: anything else was put there by someone, and may be a link to anywhere.
    _share_file(saved.path / WEIGHTS_FILE, folder / WEIGHTS_FILE)
    _copy_file(saved.path / STATE_FILE, folder / STATE_FILE)
    note = ResumedFrom(resume.run.id, saved.name, saved.epoch, saved.step)
    write_private(successor.resume_file, json_line(note))


def resumed_from(run: RunDirectory) -> ResumedFrom | None:
    """Return what `run` resumes from; None if it started afresh or the note cannot be read."""
    try:
        return read_json(run.resume_file, _note_decoder.decode)
    except OSError:
        return None


def _share_file(source: Path, target: Path) -> None:
    """Hard-link the weights where the file system can: they are never written again."""
    with opened(source):  # a file, and no link
        with suppress(OSError):
            os.link(source, target, follow_symlinks=False)
            return
        _copy_file(source, target)


def _copy_file(source: Path, target: Path) -> None:
    descriptor = open_regular(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with opened(source) as old, os.fdopen(descriptor, "wb") as new:
        shutil.copyfileobj(old, new)


Action = Literal["pause", "resume", "stop", "stop_now", "checkpoint"]


class Command(msgspec.Struct, frozen=True):
    """One request, made at `time` (seconds since the epoch, UTC)."""

    action: Action
    time: Moment = 0.0


_decoder = msgspec.json.Decoder(Command)
_encoder = msgspec.json.Encoder()


def send(run: RunDirectory, action: Action) -> Command:
    """Append a request for `action` to the commands of `run`.

    Raises OSError if it cannot be written.
    """
    command = Command(action, time.time())
    append_line(run.commands_file, _encoder.encode(command) + b"\n")
    return command


class CommandReader(Tail[Command]):
    """Reads the commands that came since the last time; lines that hold no command are skipped."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _decode)


def _decode(line: bytes) -> Command | None:
    try:
        return _decoder.decode(line)
    except JSON_ERRORS:
        return None
