"""A step's predicted memory against the peak of TensorFlow's allocator in real steps.

Everything that a device holds is counted: weights, slots, the batch, all that a step computes, and
what the allocator gives out beyond it.
On a CPU steps differ with the order in which its threads happen to run: what counts is the fullest
of those of several processes. A prediction may be 15 % above it, and not below; one that is below
is shown the other way round, and breaks the budget of its row.

Thirty steps do not show what a run needs: two dense layers held 2.55 MiB in them, and 2.88 in three
of a thousand, as their trace told: a thread stood still in the gradient of the second layer's
weights, and the other went on to that of the first's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from measuring import Budget, Row
from workplace import Workplace

from gpu_studio.placement.device_memory import PredictedMemory
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import PlanFacts, decoded
from gpu_studio.plan import (
    MIB,
    Carve,
    Data,
    DeviceSettings,
    Distribution,
    Machine,
    ModelSettings,
    Placed,
    Plan,
    Training,
    save,
    with_absolute_files,
)
from gpu_studio.runs.questions.plan_question import ask_about

BUDGET, BELOW = Budget("at most", 1.15), Budget("at most", 1.0)
SHAPES = {
    "mlp": [28, 28, 1],
    "cnn": [28, 28, 1],
    "resnet20": [32, 32, 3],
    "transformer": [28, 28, 1],
}
BATCHES = (32, 128, 512)
IN_ALL = Budget("at most", 1.5)
"""Of placed plans in micro-batches.

Each device is predicted at its own fullest moment, and they are not full at the same one.
"""
PLACED, PLACED_BATCH = ("mlp", "cnn", "transformer"), 128
BUSY_S = 10.0
"""How many seconds of the processors the steps of one process take, if they are not enough before.
"""
MOST_RUNS = 8
"""In how many processes a row is measured that seems over its budget: what is predicted is the
fullest step that there is, which few processes may not have shown."""
FEW = 100
"""Samples of the data, which need not be more: batches are made of them over and over."""


def rows(place: Workplace, times: int) -> Iterator[Row]:
    """A row for each model and batch, in MiB, each measured in so many processes of its own."""
    for name, plan, batch in cases(place):
        facts = decoded(ask_about(with_absolute_files(plan, place.folder)))
        yield _row(
            place, f"{name}, batch {batch}", plan, predicted(plan, batch, facts).total, times
        )
    for model in PLACED:
        facts = decoded(ask_about(with_absolute_files(plan_of(model), place.folder)))
        for parts in (1, 4):
            plan, budget = in_halves(plan_of(model), facts, parts), BUDGET if parts == 1 else IN_ALL
            what = f"{model} in two halves, batch {PLACED_BATCH} in {parts}"
            yield _row(place, what, plan, _in_all(plan, facts), times, budget)


def cases(place: Workplace) -> Iterator[tuple[str, Plan, int]]:
    """Name, plan and batch of everything that is measured."""
    for model in SHAPES:
        for batch in BATCHES:
            yield model, with_batch(plan_of(model), batch), batch
    for name, training in place.program("models_to_measure.py", str(place.folder)).items():
        plan = made_plan(name, training)
        yield name, plan, plan.training.batch_size


def measured_and_known(
    place: Workplace, plan: Plan, batch: int
) -> tuple[dict[str, Any], PlanFacts]:
    """What real steps of the plan held, and the facts that it is predicted from."""
    return steps_of(place, plan, batch), decoded(ask_about(with_absolute_files(plan, place.folder)))


def steps_of(place: Workplace, plan: Plan, batch: int, busy_s: float = 0.0) -> dict[str, Any]:
    """What real steps of the plan held, in a process of their own; see `step_memory.py`."""
    path = place.folder / "measured.plan.toml"
    save(plan, path)
    measured: dict[str, Any] = place.program("step_memory.py", str(path), str(batch), str(busy_s))
    return measured


def made_plan(name: str, training: Mapping[str, Any]) -> Plan:
    """The plan of one of the models that `models_to_measure.py` saved into the workplace."""
    model, data = ModelSettings(file=f"{name}.keras"), Data(file=f"{name}.npz")
    return Plan(
        name=name,
        devices=DeviceSettings(visible=("CPU:0",)),
        model=model,
        data=data,
        training=Training(**training),
    )


def plan_of(model: str) -> Plan:
    """The plan of a model on the CPU, for data of a shape that it is made for."""
    data = Data(name="synthetic", options={"shape": SHAPES[model], "samples": FEW})
    return Plan(
        name=f"memory of {model}",
        devices=DeviceSettings(visible=("CPU:0",)),
        model=ModelSettings(name=model),
        data=data,
    )


def predicted(plan: Plan, batch: int, facts: PlanFacts) -> PredictedMemory:
    """The prediction for one CPU that trains with this batch."""
    (memory,) = predict(with_batch(plan, batch), Machine(), facts)
    return memory


def with_batch(plan: Plan, batch: int) -> Plan:
    """The plan with this size of batch."""
    return replace(plan, training=replace(plan.training, batch_size=batch))


def in_halves(plan: Plan, facts: PlanFacts, parts: int) -> Plan:
    """The plan with half of its layers on each of two logical CPUs, in so many parts."""
    names = [layer.name for layer in facts.graph.layers] if facts.graph else []
    layers = {name: (f"CPU:{2 * place // len(names)}",) for place, name in enumerate(names)}
    devices = DeviceSettings(visible=("CPU:0",), carve=(Carve("CPU:0", (0, 0)),))
    placed = Distribution("placed", placed=Placed(parts, layers))
    halved = replace(plan, devices=devices, distribution=placed)
    return with_batch(halved, PLACED_BATCH)


def _in_all(plan: Plan, facts: PlanFacts) -> int:
    """What is predicted of all devices of a plan.

    Logical CPUs have one memory, of which only the sum is measured.
    """
    return sum(
        memory.total for memory in predict(plan, Machine(cpu_cores=os.cpu_count() or 1), facts)
    )


def _row(
    place: Workplace, what: str, plan: Plan, foreseen: int, times: int, budget: Budget = BUDGET
) -> Row:
    held = _fullest(place, plan, times)
    if foreseen > budget.limit * held:
        # All of them: to stop at the first that is full enough would hide a fuller one.
        held = max(held, _fullest(place, plan, MOST_RUNS - times))
    foretold, real = (foreseen / MIB,), (held / MIB,)
    if foretold >= real:
        return Row(f"memory of {what}, predicted", "measured", "MiB", budget, foretold, real)
    return Row(f"memory of {what}, measured", "predicted", "MiB", BELOW, real, foretold)


def _fullest(place: Workplace, plan: Plan, times: int) -> int:
    """The most that any step of so many processes held, in bytes."""
    runs = (steps_of(place, plan, plan.training.batch_size, BUSY_S) for _ in range(times))
    return max((peak for each in runs for peak in each["peaks"]), default=0)
