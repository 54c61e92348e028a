"""Fixtures for tests that start the small trainer of `tests/runs/fake_trainer.py`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S

from gpu_studio.contract import events, lock
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import AnyEvent
from gpu_studio.plan import AbsolutePlan, Data, ModelSettings, Plan, Training
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.launch import Launched, launch, trainer_environment
from gpu_studio.runs.lineage import events_of

FAKE_TRAINER = Path(__file__).parents[1] / "runs" / "fake_trainer.py"
PLAN = Plan(
    name="A plan",
    model=ModelSettings(name="mlp"),
    data=Data(name="digits"),
    training=Training(epochs=2),
)

Start = Callable[..., Launched]


def eventually(condition: Callable[[], Any], what: str = "") -> Any:
    """The first true value of `condition`; a test that waits for it in vain fails."""
    deadline = time.monotonic() + PATIENCE_S
    pause = threading.Event()
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what or condition}"
        pause.wait(0.005)
    return value


def fake_trainer(*flags: str) -> list[str]:
    """The command line of the small trainer."""
    return [sys.executable, str(FAKE_TRAINER), *flags]


def train_by_hand(run: RunDirectory, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run the small trainer as a person would in a terminal, without the launcher, to its end."""
    environment = trainer_environment({})
    return subprocess.run(
        [*fake_trainer(*flags), str(run.path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def has_trained(launched: Launched, steps: int) -> Callable[[], bool]:
    """A condition: the run has told of so many steps."""
    return lambda: any(
        isinstance(event, events.Steps) and event.first_step + 1 >= steps
        for event in told(launched)
    )


def told(launched: Launched) -> list[AnyEvent]:
    """All events of the run so far."""
    return list(events_of(launched.directory))


def kill_trainers(runs: Path) -> None:
    """Kill the trainers that still live in a folder of runs, and wait for their end."""
    for run in directories(runs):
        if living := lock.holder(run.lock_file):
            with suppress(ProcessLookupError):  # it may be ending by itself just now
                os.kill(living.pid, signal.SIGKILL)
            eventually(partial(_is_free, run.lock_file), "the end of the trainer")


def _is_free(lock_file: Path) -> bool:
    return not lock.held(lock_file)


@pytest.fixture
def start(runs_dir: Path) -> Iterator[Start]:
    """Start the small trainer with these flags.

    What still lives at the end of the test is killed.
    """
    started: list[Launched] = []

    def start_one(*flags: str, plan: Plan = PLAN, **options: Any) -> Launched:
        launched = launch(AbsolutePlan(plan), runs_dir, trainer=fake_trainer(*flags), **options)
        started.append(launched)
        return launched

    yield start_one
    for launched in started:
        if launched.poll() is None:
            launched.process.kill()
        launched.process.wait(PATIENCE_S)


@pytest.fixture
def training(start: Start) -> Start:
    """Start the small trainer with these flags, and wait until it holds after two steps."""

    def run_and_hold(*flags: str, **options: Any) -> Launched:
        launched = start("--hold-at", "2", *flags, **options)
        eventually(has_trained(launched, 2))
        return launched

    return run_and_hold


@pytest.fixture
def ended(start: Start) -> Start:
    """Start the small trainer with these flags and wait for its end."""

    def run_to_end(*flags: str, **options: Any) -> Launched:
        launched = start(*flags, **options)
        launched.process.wait(PATIENCE_S)
        return launched

    return run_to_end
