"""A step's predicted time against that of real steps of a placement, and what overlapping brings.

Each layer is timed as *Place for me* has it timed, and the steps right after that, some times over
in one process. A virtual machine's host moves its processors about: where these two share no cache
a step can take half as long again, for seconds or minutes, and both times are such. Of all
repetitions the medians are held against each other. Devices are logical CPUs: an operation has one
thread, and TensorFlow two threads for all of them, whatever else the machine has. The larger figure
is shown against the smaller one, so that a ratio of 1.15 is a prediction that is 15 % off, either
way.

glibc is told to keep memory that is freed. Left to itself it gives it back to the system after
every step or not, by what the process has freed before: the same step of resnet20 takes 40 ms in
one process, and 60 ms in another."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from measuring import Budget, Row
from workplace import Workplace

from gpu_studio.placement.plan_facts import ModelFacts, decoded
from gpu_studio.placement.schedule import timeline
from gpu_studio.placement.work import places, times_in, work_of
from gpu_studio.plan import (
    Carve,
    Data,
    DeviceSettings,
    Machine,
    ModelSettings,
    Plan,
    Training,
    logical_devices,
    save,
    with_absolute_files,
)
from gpu_studio.runs.questions.plan_question import ask_about

BUDGET, OVERLAP = Budget("at most", 1.15), Budget("at least", 1.0)
THREADS = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "2"}
KEEPING = {"MALLOC_TRIM_THRESHOLD_": str(1 << 35), "MALLOC_MMAP_THRESHOLD_": str(1 << 35)}
MACHINE = Machine(cpu_cores=2)
WAYS = ((1, 1), (1, 4), (2, 1), (2, 4))
"""Stages and micro-batches."""


@dataclass(frozen=True)
class Case:
    """A model, the shape of its data, and its batch."""

    model: str
    shape: tuple[int, ...]
    batch: int
    hidden: tuple[int, ...] = ()


CASES = (
    Case("mlp", (256,), 256, (512,) * 6),
    Case("cnn", (28, 28, 1), 64),
    Case("lenet", (28, 28, 1), 128),
    Case("resnet20", (16, 16, 3), 64),
    Case("transformer", (28, 28, 1), 32),
)


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """For each model a row for one device and two, the batch whole and in four micro-batches.

    And the overlap.
    """
    for case in CASES:
        plan = plan_of(case)
        path = place.folder / f"pipeline {case.model}.plan.toml"
        save(plan, path)
        facts = decoded(ask_about(with_absolute_files(plan, place.folder))).model
        assert facts is not None, case
        placements = {way: _even(facts, way[0]) for way in WAYS}
        words = [_word(facts, way, placements[way]) for way in WAYS]
        timed = Workplace(place.folder, {**place.environment, **THREADS, **KEEPING})
        measured = timed.program("placed_steps.py", str(path), str(times), *words)
        yield from _rows(case, plan, facts, placements, measured)


def plan_of(case: Case) -> Plan:
    """The plan of a case, for two logical CPUs."""
    options = {"hidden": list(case.hidden)} if case.hidden else {}
    return Plan(
        name=f"pipeline {case.model}",
        devices=DeviceSettings(carve=(Carve("CPU:0", (0, 0)),)),
        model=ModelSettings(name=case.model, options=options),
        data=Data(
            name="synthetic",
            options={"shape": list(case.shape), "classes": 10, "samples": 4 * case.batch},
            validation_fraction=0.0,
            test_fraction=0.0,
        ),
        training=Training(batch_size=case.batch),
    )


def _even(facts: ModelFacts, stages: int) -> list[int]:
    """For each layer the place of its device: as many FLOPs before the cut as after it."""
    assert facts.graph is not None
    flops = [layer.flops_forward + layer.flops_backward for layer in facts.graph.layers]
    done = [sum(flops[:place]) + each / 2 for place, each in enumerate(flops)]
    return [min(stages - 1, int(stages * each / max(1.0, sum(flops)))) for each in done]


def _word(facts: ModelFacts, way: tuple[int, int], placement: Sequence[int]) -> str:
    assert facts.graph is not None
    layers = {
        layer.name: f"CPU:{place}"
        for layer, place in zip(facts.graph.layers, placement, strict=True)
    }
    return f"{_label(way)}={json.dumps({'micro_batches': way[1], 'layers': layers})}"


def _label(way: tuple[int, int]) -> str:
    return f"{way[0]} x {way[1]}"


def _rows(
    case: Case,
    plan: Plan,
    facts: ModelFacts,
    placements: dict[tuple[int, int], list[int]],
    measured: Any,
) -> Iterator[Row]:
    logical = logical_devices(plan, MACHINE)
    devices = places(logical, MACHINE, {})
    works = [
        work_of(facts, devices, case.batch, times_in(answer, logical))
        for answer in measured["answers"]
    ]
    steps = {
        way: tuple(1e3 * each for each in measured["steps"][_label(way)]) for way in placements
    }
    for way, placement in placements.items():
        predicted = tuple(
            1e3 * timeline(work, devices, placement, way[1]).seconds for work in works
        )
        yield _row(f"{case.model}, {way[0]} stages, {way[1]} micro-batches", predicted, steps[way])
    one, four = (tuple(1e3 / each for each in steps[2, count]) for count in (1, 4))
    yield Row(
        f"{case.model}, 2 stages, 4 micro-batches", "1 micro-batch", "steps/s", OVERLAP, four, one
    )


def _row(what: str, predicted: tuple[float, ...], real: tuple[float, ...]) -> Row:
    pair = ("predicted", predicted, "measured", real)
    larger, figures, smaller, others = (
        pair if median(predicted) >= median(real) else pair[2:] + pair[:2]
    )
    return Row(f"{what}, {larger}", smaller, "ms, exactly", BUDGET, figures, others)
