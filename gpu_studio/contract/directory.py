"""The run directory: the names of its files, and how a new one is created."""

from __future__ import annotations

import re
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gpu_studio.contract.files import PRIVATE_DIRECTORY, make_private_directory

SLUG_LENGTH = 40
HIDDEN = ".new-"


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The file names of one run; asking for a name does not touch the disk."""

    path: Path

    @property
    def id(self) -> str:
        """The directory's name: UTC time, slug of the plan's name, four hexadecimal digits."""
        return self.path.name

    @property
    def plan_file(self) -> Path:
        """The plan exactly as it was run."""
        return self.path / "plan.toml"

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
    def prediction_file(self) -> Path:
        """What was predicted for this run when it started; absent if nothing was known."""
        return self.path / "prediction.json"

    @property
    def queued_file(self) -> Path:
        """The queue entry that this run came from; absent in a run that was started by hand."""
        return self.path / "queued"

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
            path = runs / f"{HIDDEN}{new_id(name)}"
            try:
                path.mkdir(mode=PRIVATE_DIRECTORY)
            except FileExistsError:
                continue
            return cls(path)

    def publish(self) -> RunDirectory:
        """Rename a prepared directory, with all its content, to its final name."""
        return RunDirectory(self.path.rename(self.path.with_name(self.id.removeprefix(HIDDEN))))


def new_id(name: str) -> str:
    """Return a unique name for a run of the plan `name`.

    Names sort by time and say what the run is.
    """
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{slug(name)}-{secrets.token_hex(2)}"


def slug(name: str) -> str:
    """Write `name` in at most 40 lower-case ASCII letters, digits and hyphens.

    `run` if none remain.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "-", plain.lower())
    return words[:SLUG_LENGTH].strip("-") or "run"
