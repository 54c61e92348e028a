"""A placed model.

What overlapping its stages brings, and what the strategy costs where nothing is moved.

A tower of equal layers in stages on logical CPUs, an operation with one thread. M micro-batches are
held against the whole batch at once, all else being the same. Where only the tower's first layer is
trained, as in fine-tuning, each of its operations needs the one before: the whole batch at once
keeps one core busy, as one stage after another would. Where all layers are trained, TensorFlow runs
the two products of a layer's backward pass side by side, so that the whole batch keeps both cores
busy half of the time. Logical CPUs have no core of their own: two micro-batches may be in one stage
at a time, and M = 4 can bring more than the 1.6 of the pipeline's formula. All layers on one device
are held against the strategy `none`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from measuring import Budget, Row, compare
from training import CASES, pace, plan_of
from workplace import Workplace

from gpu_studio.plan import (
    Carve,
    CheckpointSettings,
    Data,
    DeviceSettings,
    Distribution,
    ModelSettings,
    Placed,
    Plan,
    Training,
)

WIDTH, DEPTH = 1024, 8
SAMPLES = LARGE = 16_384
"""An epoch, and a batch of which even a sixteenth is so large that its products take as long a
sample as the whole.
"""
OVERLAP, NO_LOSS, ON_ONE = (
    Budget("at least", 1.8),
    Budget("at least", 1.0),
    Budget("at least", 0.95),
)
ONE_THREAD_AN_OPERATION = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "4"}


@dataclass(frozen=True)
class Tower:
    """Which layers are `trained` (`first` or `all`), the batch, and the ways in which it is cut."""

    trained: str
    batch: int
    stages: int
    parts: int
    budget: Budget

    @property
    def words(self) -> str:
        """What is measured."""
        trained = "first layer" if self.trained == "first" else "all layers"
        return (
            f"placed, {self.stages} stages, batch {self.batch:,}, {trained} "
            f"trained, {self.parts} micro-batches"
        )


TOWERS = (
    Tower("first", LARGE, 2, 4, OVERLAP),
    Tower("first", LARGE, 2, 8, OVERLAP),
    Tower("first", LARGE, 2, 16, OVERLAP),
    Tower("first", 1024, 2, 4, OVERLAP),
    Tower("first", LARGE, 4, 8, NO_LOSS),
    Tower("all", LARGE, 2, 4, NO_LOSS),
)


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """Overlap of two and of four stages, and what `placed` costs on one device, in samples/s."""
    for trained in ("first", "all"):
        place.program("save_tower.py", str(_file(place, trained)), str(WIDTH), str(DEPTH), trained)
    for tower in TOWERS:
        overlapped, whole = (
            partial(
                pace,
                place,
                _plan(place, replace(tower, parts=count)),
                min,
                **ONE_THREAD_AN_OPERATION,
            )
            for count in (tower.parts, 1)
        )
        yield compare(
            tower.words, overlapped, "1 micro-batch", whole, "samples/s", tower.budget, times
        )
    for case in CASES:
        if case.strategy == "none":
            plain = plan_of(case)
            placed = replace(plain, distribution=Distribution(strategy="placed"))
            measure, reference = partial(pace, place, placed, min), partial(pace, place, plain, min)
            yield compare(
                f"{case.model}, placed on one",
                measure,
                "none",
                reference,
                "samples/s",
                ON_ONE,
                times,
            )


def _plan(place: Workplace, tower: Tower) -> Plan:
    layers = {
        f"layer_{number}": (f"CPU:{number * tower.stages // DEPTH}",) for number in range(DEPTH)
    }
    return Plan(
        name=f"bench {tower.stages} stages {tower.parts} micro-batches",
        devices=DeviceSettings(carve=(Carve("CPU:0", (0,) * tower.stages),)),
        model=ModelSettings(file=str(_file(place, tower.trained))),
        data=Data(
            name="synthetic",
            options={"shape": [WIDTH], "classes": 10, "samples": SAMPLES},
            validation_fraction=0.0,
            test_fraction=0.0,
        ),
        training=Training(
            epochs=4,
            batch_size=tower.batch,
            optimizer="sgd",
            checkpoint=CheckpointSettings(every_epochs=0),
        ),
        distribution=Distribution(strategy="placed", placed=Placed(tower.parts, layers)),
    )


def _file(place: Workplace, trained: str) -> Path:
    return place.folder / f"tower, {trained} trained.keras"
