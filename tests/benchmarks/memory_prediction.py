"""The memory that a step is predicted to take, against the peak of TensorFlow's allocator in real steps.

Everything that a device holds is counted: weights, slots, the batch, and all that a step computes. The larger figure is
shown against the smaller one, so that a ratio of 1.15 is a prediction that is 15 % off, either way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from measuring import Budget, Row
from workplace import Workplace

from gpu_studio.placement.memory import DeviceMemory, predict
from gpu_studio.placement.plan_facts import PlanFacts, decoded
from gpu_studio.plan import MIB, Data, Devices, Machine, Model, Plan, Training, save
from gpu_studio.runs.questions.plan_question import ask_about

BUDGET = Budget("at most", 1.15)
SHAPES = {"mlp": [28, 28, 1], "cnn": [28, 28, 1], "resnet20": [32, 32, 3], "transformer": [28, 28, 1]}
BATCHES = (32, 128, 512)
FEW = 100
"""Samples of the data, which need not be more: batches are made of them over and over."""


def rows(place: Workplace, _times: int) -> Iterator[Row]:
    """A row for each model and batch, in MiB."""
    for model in SHAPES:
        plan = plan_of(model)
        path = place.folder / f"{model}.plan.toml"
        save(plan, path)
        measured = place.program("step_memory.py", str(path), *map(str, BATCHES))
        facts = decoded(ask_about(plan, place.folder))
        for batch in BATCHES:
            yield _row(f"{model}, batch {batch}", predicted(plan, batch, facts).total, totals(measured, batch))


def plan_of(model: str) -> Plan:
    """The plan of a model on the CPU, for data of a shape that it is made for."""
    data = Data(name="synthetic", options={"shape": SHAPES[model], "samples": FEW})
    return Plan(name=f"memory of {model}", devices=Devices(visible=("CPU:0",)), model=Model(name=model), data=data)


def predicted(plan: Plan, batch: int, facts: PlanFacts) -> DeviceMemory:
    """The prediction for one CPU that trains with this batch."""
    (memory,) = predict(replace(plan, training=Training(batch_size=batch)), Machine(), facts)
    return memory


def totals(measured: Mapping[str, Any], batch: int) -> tuple[int, ...]:
    """All that was held in each step of what `step_memory.py` measured, in bytes."""
    step = measured["steps"][str(batch)]
    return tuple(measured["weights"] + measured["slots"] + step["input"] + held for held in step["held"])


def _row(what: str, foreseen: int, held: tuple[int, ...]) -> Row:
    foretold, real = (foreseen / MIB,), tuple(each / MIB for each in held)
    row = Row(f"memory of {what}, predicted", "measured", "MiB", BUDGET, foretold, real)
    return row if row.ratio >= 1 else Row(f"memory of {what}, measured", "predicted", "MiB", BUDGET, real, foretold)
