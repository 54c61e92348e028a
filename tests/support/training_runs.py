"""Start real runs of the real trainer as the window does, wait for them, and read them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import warm_python
from patience import PATIENCE_S

from gpu_studio.contract import directory, events
from gpu_studio.contract.directory import Action, Resume, RunDirectory
from gpu_studio.contract.events import decode
from gpu_studio.contract.files import Tail
from gpu_studio.contract.lock import held
from gpu_studio.plan import Plan, loads, with_absolute_files, with_settings
from gpu_studio.runs.launch import Launched, launch

E = TypeVar("E", bound=events.Event)

SMALL = """
version = 1
name = "small"
[[devices.carve]]
device = "CPU:0"
slices_mib = [0, 0, 0, 0]
[model]
name = "mlp"
options = { hidden = [32] }
[data]
name = "digits"
[training]
epochs = 2
batch_size = 256
"""

PLAIN_STEPS = ("training.optimizer=sgd", "training.metrics=[]")
"""Settings of a run whose measures, weights and slots matter to nobody: less of it is traced."""

UNJUDGED = ("data.validation_fraction=0", "data.test_fraction=0")
"""Settings of a run that evaluates nothing: its evaluation is not traced, nor are the pipelines.

With both, a training takes half the time.
"""

HOLDING = """
import sys
from gpu_studio.trainer import team
from gpu_studio.trainer.__main__ import leave, main

hold, agree, held = int(sys.argv.pop(1)), team.Alone.agree, []


def agree_or_hold(self, control, steps, step, *given, **named):
    if step >= hold and not held:
        held.append(step)
        control._heed("pause")
    return agree(self, control, steps, step, *given, **named)


team.Alone.agree = agree_or_hold
leave(main())
"""
"""A trainer that pauses before the first call from a step on, as if it were asked just then.

Asked from outside it would train on for as many steps as the machine is quick, or be over.
"""

RESTING = """
import sys
import time
from gpu_studio.trainer import team
from gpu_studio.trainer.__main__ import leave, main

agree = team.Alone.agree


def rested(self, control, steps, step, *given, **named):
    time.sleep(0.05)
    return agree(self, control, steps, step, *given, **named)


team.Alone.agree = rested
leave(main())
"""


def resting(*, warm: bool = True) -> list[str]:
    """The command line of a trainer that rests before each call, for runs that a test ends.

    Without rest it would take a core, or two, from the test that looks on: a window, a pointer.
    """
    python = warm_python.command("-c") if warm else [sys.executable, "-P", "-c"]
    return [*python, RESTING]


def until(condition: Callable[[], Any], timeout: float) -> None:
    """Return as soon as `condition` holds, or after `timeout` seconds."""
    end, tick = time.monotonic() + timeout, threading.Event()
    while not condition() and time.monotonic() < end:
        tick.wait(0.02)


def small_plan(*settings: str) -> Plan:
    """A plan that trains in seconds on four logical CPUs, with `settings` as for `train --set`."""
    return with_settings(loads(SMALL), settings)


def as_compiled(own: Path) -> tuple[str, ...]:
    """Settings of a plan whose data `load` returns, and `build` a compiled model, of this file."""
    return (
        "data.name=",
        "model.name=",
        "model.options={}",
        f'data.python="{own}:load"',
        f'model.python="{own}:build"',
        'training.optimizer="compiled"',
        'training.loss="compiled"',
        'training.metrics=["compiled"]',
    )


@dataclass
class Running:
    """A run under way, followed event by event."""

    launched: Launched

    def __post_init__(self) -> None:
        self._tail = Tail(self.directory.events_file, decode)
        self.events: list[Any] = []

    @property
    def directory(self) -> RunDirectory:
        return self.launched.directory

    def read(self) -> list[Any]:
        """All events so far."""
        while batch := self._tail.read():
            self.events += batch
        return self.events

    def of(self, kind: type[E]) -> list[E]:
        """The events of a kind so far."""
        return [event for event in self.read() if isinstance(event, kind)]

    def wait_for(self, condition: Callable[[], Any]) -> Any:
        """Until `condition` holds, or the trainer is gone; what it gave."""
        until(lambda: condition() or self.launched.poll() is not None, PATIENCE_S)
        held = condition()
        assert held, self.log()
        return held

    def send(self, action: Action) -> None:
        """Ask the trainer for something."""
        directory.send(self.directory, action)

    def pause_save_and_go_on(self) -> int:
        """Pause the run once it trains, save a checkpoint meanwhile, and let it go on.

        Nothing is trained while it is paused; returns how many calls of steps there were by then.
        """
        self.wait_for(lambda: self.of(events.Steps))
        self.send("pause")
        self.wait_until_held()
        paused = len(self.of(events.Steps))
        self.send("checkpoint")
        self.wait_for(lambda: self.of(events.Checkpoint))
        assert len(self.of(events.Steps)) == paused
        self.send("resume")
        return paused

    def wait_until_held(self) -> None:
        """Until the run pauses."""
        self.wait_for(lambda: any(e.state == "paused" for e in self.of(events.StateChanged)))

    def stop_where_held(self) -> Finished:
        """Stop a run that was told where to hold, and wait for its end."""
        self.wait_until_held()
        self.send("stop")
        return self.finish()

    def kill(self) -> None:
        """Kill the trainer as the kernel would.

        The process that stands for a warm one may be gone before it is.
        """
        os.kill(self.launched.process.pid, signal.SIGKILL)
        self.launched.process.wait(PATIENCE_S)
        until(lambda: not held(self.directory.lock_file), PATIENCE_S)

    def finish(self) -> Finished:
        """Wait for the end, and read everything."""
        self.launched.process.wait(PATIENCE_S)
        return Finished(self.directory, self.read(), self.launched.process.returncode, self.log())

    def log(self) -> str:
        """The trainer's own output."""
        return self.directory.log_file.read_text(errors="replace")


@dataclass(frozen=True)
class Finished:
    """A run that has ended, and everything it told."""

    directory: RunDirectory
    events: list[Any]
    code: int
    log: str

    def of(self, kind: type[E]) -> list[E]:
        """Its events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def one(self, kind: type[E]) -> E:
        """Its only event of a kind."""
        found = self.of(kind)
        assert len(found) == 1, (
            f"{len(found)} × {kind.__name__}; ended with {self.code}:\n{self.log}"
        )
        return found[0]

    @property
    def losses(self) -> dict[int, float | None]:
        """The loss of every step, by its number."""
        return {
            steps.first_step + index: loss
            for steps in self.of(events.Steps)
            for index, loss in enumerate(steps.losses)
        }

    @property
    def epochs(self) -> list[dict[str, float | None]]:
        """The metrics of every epoch."""
        return [epoch.metrics for epoch in self.of(events.Epoch)]

    def weights(self) -> dict[str, np.ndarray]:
        """The model's weights in its newest checkpoint."""
        path = max(self.directory.checkpoints.glob("step-*")) / "weights.npz"
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files if name.startswith("model/")}


@contextmanager
def running(
    plan: Plan,
    runs: Path,
    *,
    resume: Resume | None = None,
    environment: Mapping[str, str] | None = None,
    warm: bool = False,
    trainer: Sequence[str] | None = None,
    hold_at: int | None = None,
) -> Iterator[Running]:
    """Start a run; whatever happens, its trainer is gone afterwards.

    A `warm` one has TensorFlow already: another process stands for it, and hands on signals.
    `trainer` is the command line of another. One told where to hold pauses before that step; it is
    warm, too.
    """
    if hold_at is not None:
        trainer = [*warm_python.command("-c"), HOLDING, str(hold_at)]
    trainer = warm_python.command("gpu_studio.trainer") if warm else trainer
    run = Running(
        launch(
            with_absolute_files(plan, Path.cwd()),
            runs,
            resume=resume,
            environment=environment,
            trainer=trainer,
        )
    )
    try:
        yield run
    finally:
        if run.launched.poll() is None:
            run.launched.process.kill()
        run.launched.process.wait(PATIENCE_S)


def trained(
    plan: Plan,
    runs: Path,
    *,
    resume: Resume | None = None,
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """Train a plan to its end, in a process that has TensorFlow already."""
    with running(plan, runs, resume=resume, environment=environment, warm=True) as run:
        return run.finish()
