"""The run directory: which file lies where, and how a new one is made."""

from __future__ import annotations

import re
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gpu_studio.runs.files import PRIVATE_DIRECTORY, make_private_directory

SLUG_LENGTH = 40
HIDDEN = ".new-"


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """Names of the files of one run; asking for a name touches nothing on disk."""

    path: Path

    @property
    def id(self) -> str:
        """The name of the directory: UTC time, slug of the plan's name, four hexadecimal digits."""
        return self.path.name

    @property
    def plan_file(self) -> Path:
        """The plan exactly as run."""
        return self.path / "plan.toml"

    @property
    def events_file(self) -> Path:
        """What the trainer tells: one event a line."""
        return self.path / "events.jsonl"

    @property
    def hardware_file(self) -> Path:
        """Samples of the physical devices while the run lives."""
        return self.path / "hardware.jsonl"

    @property
    def commands_file(self) -> Path:
        """What the trainer is asked to do."""
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
        """Which run and which checkpoint this run goes on from; absent in a run that starts afresh."""
        return self.path / "resume.json"

    @property
    def prediction_file(self) -> Path:
        """What was predicted of this run when it was started; absent where nothing was known."""
        return self.path / "prediction.json"

    @property
    def queued_file(self) -> Path:
        """Which entry of the queue this run came of; absent in a run that was started by hand."""
        return self.path / "queued"

    @property
    def evaluations_file(self) -> Path:
        """What its checkpoints were evaluated to afterwards; absent until one was."""
        return self.path / "evaluations.jsonl"

    @property
    def told_file(self) -> Path:
        """There once its end was told: empty where a window did, or was looked at then; else a terminal did."""
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
        """Make a new run's directory under a hidden name, which no list of runs shows before `publish`."""
        make_private_directory(runs)
        while True:
            path = runs / f"{HIDDEN}{new_id(name)}"
            try:
                path.mkdir(mode=PRIVATE_DIRECTORY)
            except FileExistsError:
                continue
            return cls(path)

    def publish(self) -> RunDirectory:
        """Give a prepared directory its final name, with everything that is already in it."""
        return RunDirectory(self.path.rename(self.path.with_name(self.id.removeprefix(HIDDEN))))


def new_id(name: str) -> str:
    """Make a name for a run of the plan `name`: sorts by time, says what it is, and is unlike any other."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{slug(name)}-{secrets.token_hex(2)}"


def slug(name: str) -> str:
    """Write `name` in lower-case ASCII letters, digits and hyphens, at most 40 of them; `run` if nothing is left."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "-", plain.lower())
    return words[:SLUG_LENGTH].strip("-") or "run"
