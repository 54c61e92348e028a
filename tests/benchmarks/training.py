"""Real runs of the trainer, and what their events say of their pace."""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from workplace import PATIENCE_S, PROGRAMS, BenchmarkError, Workplace

from gpu_studio.contract import events
from gpu_studio.hardware import inventory
from gpu_studio.plan import (
    AbsolutePlan,
    CheckpointSettings,
    Data,
    Distribution,
    ModelSettings,
    Plan,
    Training,
    save,
    starter,
)
from gpu_studio.runs.launch import launch
from gpu_studio.runs.lineage import events_of

EPOCHS = 4
BATCH = 256
CLASSES = 10


@dataclass(frozen=True)
class Case:
    """What is trained.

    `samples` is an epoch's, so many that on two cores it takes about a second.
    """

    model: str
    strategy: str
    samples: int

    def __str__(self) -> str:
        return f"{self.model}, {self.strategy}"


CASES = tuple(
    Case(model, strategy, samples)
    for model, samples in (("mlp", 40_960), ("cnn", 5_120))
    for strategy in ("none", "mirrored")
)
# A card trains so much faster that an epoch of the above would be over before it is measured.
TIMES_SAMPLES_ON_CARDS = 20


def plan_of(case: Case, epochs: int = EPOCHS) -> Plan:
    """The plan of a case for this machine: mirrored over what the starter plan mirrors over.

    Data are MNIST-shaped.
    """
    machine = inventory()
    samples = case.samples * (TIMES_SAMPLES_ON_CARDS if machine.cards else 1)
    options = {"shape": [28, 28, 1], "classes": CLASSES, "samples": samples}
    return replace(
        starter(machine)
        if case.strategy == "mirrored"
        else Plan(distribution=Distribution(strategy="none")),
        name=f"bench {case.model} {case.strategy}",
        model=ModelSettings(name=case.model),
        # Nothing is held out, so that an epoch is training and nothing else.
        data=Data(name="synthetic", options=options, validation_fraction=0.0, test_fraction=0.0),
        training=Training(
            epochs=epochs, batch_size=BATCH, checkpoint=CheckpointSettings(every_epochs=0)
        ),
    )


Pick = Callable[[Iterable[float]], float]


def pace(place: Workplace, plan: Plan, pick: Pick = statistics.median, **environment: str) -> float:
    """Samples a second of a run of the plan, by the clock from one epoch's end to the next.

    `pick` chooses among the seconds of its epochs.
    """
    launched = launch(
        AbsolutePlan(plan), place.runs, environment={**place.environment, **environment}
    )
    launched.process.wait(PATIENCE_S)
    told = list(events_of(launched.directory))
    ends = [event.time for event in told if isinstance(event, events.Epoch)]
    if not isinstance(told[-1], events.Finished) or len(ends) < plan.training.epochs:
        raise BenchmarkError(f"{plan.name}: {told[-1]}")
    return _pace(plan, ends, pick)


def watched_pace(place: Workplace, plan: Plan) -> float:
    """The same while the window shows the training, with its sampler."""
    command = [sys.executable, "-P", str(PROGRAMS / "watch_runs.py"), str(place.runs)]
    with subprocess.Popen(
        command,
        env=dict(place.environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as window:
        try:
            if window.stdout is None or not window.stdout.readline():
                raise BenchmarkError("watch_runs.py showed no window")
            return pace(place, plan)
        finally:
            window.terminate() if window.stdin is None else window.stdin.close()


def pace_of_fit(place: Workplace, plan: Plan) -> float:
    """The same of plain Keras: the same model, data and batch under `model.fit`."""
    path = place.folder / "reference.plan.toml"
    save(plan, path)
    return _pace(plan, place.program("keras_fit.py", str(path))["epoch_ends"], statistics.median)


def _pace(plan: Plan, ends: Sequence[float], pick: Pick) -> float:
    samples = int(plan.data.options["samples"])
    return samples / pick(late - early for early, late in itertools.pairwise(ends))
