"""Studies to begin from: made of a plan, for the devices that it has on a machine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from gpu_studio.lab.largest_batch import LargestBatch
from gpu_studio.lab.study import (
    DEVICES,
    AxisChoice,
    Study,
    StudyAxis,
    Template,
    axis_of,
    points_of,
)
from gpu_studio.plan import (
    ALL_REDUCES,
    MIRRORED,
    RUNNABLE_STRATEGIES,
    Machine,
    Plan,
    PlanError,
    Problem,
    default_devices,
    logical_devices,
    strategy_named,
    strategy_of,
    validate,
    visible_cards,
)

_STRATEGY: Final = "distribution.strategy"
_BATCH: Final = "training.batch_size"
_RATE: Final = "training.learning_rate"
_EPOCHS: Final = 6
_MEASURED: Final = 500
"""The first epoch is warm-up; of the others the medians count. So many steps of theirs are wanted,
with the plan's own batch: less is over before the machine's noise averages out."""
_STEPS: Final = _MEASURED // (_EPOCHS - 1)
_MOST_EPOCHS: Final = 200
_REPEATS: Final = 3
_MOST_DEVICES: Final = 16
_MOST_BATCHES: Final = 10
_SHORT: Final[dict[str, Any]] = {
    "training.epochs": _EPOCHS,
    "training.checkpoint.every_epochs": 0,
    "training.early_stopping": "",
}
"""What is laid over a plan of which only the pace is measured."""
_LIMITED: Final = "training.steps_per_epoch"
PACE_ONLY: Final = (*_SHORT, _LIMITED)
_TITLES: Final[dict[Template, str]] = {
    "scaling-strong": "Scaling of {}, strong",
    "scaling-weak": "Scaling of {}, weak",
    "strategies": "Strategies of {}",
    "batch": "Batch of {}",
    "sweep": "Learning rates of {}",
}


def study_from(
    template: Template,
    plan: Plan,
    path: str,
    machine: Machine,
    largest: tuple[LargestBatch, ...] = (),
    samples: int = 0,
) -> Study:
    """Make a study of `plan`, whose file is `path` as the study will write it.

    Batches go up to the first of the `largest`, if that is known. Of so many `samples` to train
    with, if they are known, runs are as long as a measurement needs. Raises PlanError if the plan
    has too few devices for it.
    """
    fields = _short(plan, samples)
    names = default_devices(logical_devices(plan, machine))
    given = plan.distribution.devices or names
    title = _TITLES[template].format(plan.name)
    if template.startswith("scaling"):
        return _scaling(template, title, plan, path, given, fields)
    if template == "strategies":
        every = Study(title, path, template, repeats=_REPEATS, fields=fields)
        kept = [each for each in _strategies(plan, machine) if _suits(each, every, plan, machine)]
        return replace(every, axes=(StudyAxis("strategy", tuple(kept)),))
    if template == "batch":
        smallest = max(1, plan.training.batch_size // 4)
        axes = (_batches(smallest, plan.training.batch_size * 8),)
        batch = Study(title, path, template, axes, repeats=_REPEATS, fields=fields)
        return with_largest(batch, largest, smallest) if largest else batch
    rates = [plan.training.learning_rate * factor for factor in (0.1, 0.3, 1.0, 3.0, 10.0)]
    varied = (
        _axis(_RATE, [float(f"{rate:.3g}") for rate in rates]),
        _axis("training.seed", [0, 1, 2]),
    )
    return Study(title, path, template, varied)


def with_largest(study: Study, largest: tuple[LargestBatch, ...], smallest: int) -> Study:
    """The study of batches from the smallest, twice as large each, up to the largest that fits."""
    return replace(study, axes=(_batches(smallest, largest[0].batch),), largest=largest)


def _batches(smallest: int, most: int) -> StudyAxis:
    size, sizes = min(smallest, most), list[int]()
    while size <= most:
        sizes.append(size)
        size *= 2
    return _axis(_BATCH, [*sizes, most][-_MOST_BATCHES:])


def _axis(field: str, values: Sequence[Any]) -> StudyAxis:
    return axis_of(field, list(dict.fromkeys(values)))


def _short(plan: Plan, samples: int) -> dict[str, Any]:
    """What is laid over the plan so that a run is long enough to be measured, and no longer."""
    if not samples:
        return dict(_SHORT)
    steps = -(-samples // max(1, plan.training.batch_size))
    if steps > _STEPS:
        return {**_SHORT, _LIMITED: _STEPS}
    epochs = 1 - (-_MEASURED // steps)
    return {**_SHORT, "training.epochs": min(_MOST_EPOCHS, max(_EPOCHS, epochs))}


def _scaling(
    template: Template,
    title: str,
    plan: Plan,
    path: str,
    names: Sequence[str],
    short: Mapping[str, Any],
) -> Study:
    if len(names) < 2:
        advice = "visible or carved devices are too few: a CPU can be carved into several"
        raise PlanError(
            [Problem("devices", f"good for {len(names)} logical device", advice)], plan.name
        )
    counts = range(1, min(len(names), _MOST_DEVICES) + 1)
    fields = dict(short)
    if not strategy_of(plan).replicates:
        fields[_STRATEGY] = MIRRORED.name
        if plan.cluster is not None:
            fields["cluster"] = ""
    held = "global batch" if template == "scaling-strong" else "batch per replica"
    batch = plan.training.batch_size
    if template == "scaling-strong":
        parts = math.lcm(*counts)
        whole = parts if parts <= max(batch, 64) else len(names)
        batch = -(-batch // whole) * whole
    elif plan.training.batch_scope == "global":
        batch = max(1, batch // len(names))
    if batch != plan.training.batch_size:
        fields[_BATCH] = batch
    values = (
        AxisChoice(f"{count} device{'' if count == 1 else 's'}", {DEVICES: list(names[:count])})
        for count in counts
    )
    axis = StudyAxis(DEVICES, tuple(values))
    return Study(title, path, template, (axis,), repeats=_REPEATS, held=held, fields=fields)


def _suits(choice: AxisChoice, study: Study, plan: Plan, machine: Machine) -> bool:
    """Whether the rules let the plan be spread so; what else is wrong with it is reported later."""
    (point,) = points_of(replace(study, axes=(StudyAxis("strategy", (choice,)),)), plan)
    return not any(each.field.startswith("distribution.") for each in validate(point.plan, machine))


def _strategies(plan: Plan, machine: Machine) -> list[AxisChoice]:
    """Every strategy that needs no more than its name, and the plan's own; each all-reduce."""
    cards = visible_cards(plan.devices, machine)
    reduces = [name for name in ALL_REDUCES if cards or name != "nccl"]
    found = []
    for name in RUNNABLE_STRATEGIES:
        strategy = strategy_named(name)
        particular = strategy.places_layers or strategy.clusters
        if particular and plan.distribution.strategy != name:
            continue
        fields: dict[str, Any] = {_STRATEGY: name}
        if not strategy.clusters and plan.cluster is not None:
            fields["cluster"] = ""
        if not strategy.places_layers and plan.distribution.placed:
            fields["distribution.placed"] = ""
        if strategy.devices in ("none", "one") and len(plan.distribution.devices) > 1:
            kept = strategy.instead_of(plan.distribution).devices
            fields[DEVICES] = list(kept) or ""
        if not strategy.has_parameter_device and plan.distribution.parameter_device:
            fields["distribution.parameter_device"] = ""
        if strategy.sums_gradients:
            for reduce in reduces:
                made = {**fields, "distribution.all_reduce": reduce}
                found.append(AxisChoice(f"{name}, {reduce}", made))
        else:
            found.append(AxisChoice(name, {**fields, "distribution.all_reduce": ""}))
    return found
