from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S
from real_runs import (
    PLAN,
    ended,
    eventually,
    fake_trainer,
    kill_trainers,
    start,
    training,
)

from gpu_studio import hardware
from gpu_studio.cli import main
from gpu_studio.contract.lock import held
from gpu_studio.plan import Machine, save
from gpu_studio.runs.launch import TRAINER_VARIABLE, trainer_environment
from gpu_studio.runs.queue import Queue

__all__ = ["ended", "start", "training"]

COMMAND = [sys.executable, "-m", "gpu_studio"]


@dataclass
class Answer:
    """The output and exit status of a command."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def documents(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def gpu_studio(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run a command in this process."""

    def run(*arguments: str | Path) -> Answer:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Answer(code, *capsys.readouterr())

    return run


@pytest.fixture
def gpu_studio_process() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a command in its own process."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
        streams = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **options,
        }
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)], env=trainer_environment({}), text=True, **streams
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate(timeout=PATIENCE_S)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with four cores and no card, without asking NVML each time."""
    found = Machine(cpu_cores=4, memory_mib=8192, why_no_cards="there is no NVIDIA driver")
    monkeypatch.setattr(hardware, "inventory", lambda **_options: found)
    return found


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch, runs_dir: Path) -> Iterator[Callable[..., None]]:
    """Choose what the small trainer does in later commands.

    Trainers that still live at the end are killed.
    """

    def behaves(*flags: str) -> None:
        monkeypatch.setenv(TRAINER_VARIABLE, shlex.join(fake_trainer(*flags)))

    behaves()
    yield behaves
    kill_trainers(runs_dir)


@pytest.fixture
def queue(runs_dir: Path, trainer: Callable[..., None]) -> Iterator[Queue]:
    """The queue. At the end its runner has nothing left to do, and is waited for."""
    there = Queue(runs_dir)
    yield there
    for entry in there.entries():
        there.drop(entry.id)
    eventually(lambda: not there.has_runner, "the end of the runner")


def _is_free(lock_file: Path) -> bool:
    return not held(lock_file)


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.plan.toml"
    save(PLAN, path)
    return path
