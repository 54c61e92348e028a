"""An obvious way out of a problem, as a change of the plan that really removes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpu_studio.plan.limits import CHECKPOINT_LIMITS, DATA_LIMITS, EARLY_STOPPING_LIMITS, PLACED_LIMITS, TRAINING_LIMITS
from gpu_studio.plan.machine import Machine
from gpu_studio.plan.mending import Mend, changing
from gpu_studio.plan.options import Option
from gpu_studio.plan.problems import Problem
from gpu_studio.plan.validation import validate
from gpu_studio.plan.values import Plan
from gpu_studio.plan.ways import device_ways, distribution_ways, source_ways, training_ways

Way = Callable[[Problem, Plan, Machine], Iterator[Mend]]


def mend_of(problem: Problem, plan: Plan, machine: Machine) -> Mend | None:
    """The first way out after which the problem is gone and there are fewer of them; None if none is obvious.

    Problems that the rules do not find themselves (a file that is not there) have none.
    """
    before = validate(plan, machine)
    if problem not in before:
        return None
    mends = (mend for field, way in WAYS if _is_in(problem.field, field) for mend in way(problem, plan, machine))
    return next((mend for mend in mends if _mends(mend, problem, plan, machine, len(before))), None)


def _is_in(field: str, whole: str) -> bool:
    return field == whole or field.startswith((f"{whole}.", f"{whole}["))


def _mends(mend: Mend, problem: Problem, plan: Plan, machine: Machine, before: int) -> bool:
    after = validate(mend.make(plan), machine)
    return problem not in after and len(after) < before


def _usual(part: str, option: Option) -> Way:
    """The way out for a plain number: its default."""

    def way(_problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Mend]:
        yield changing(f"Use {option.default}", part, **{option.name: option.default})

    return way


def _name(_problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Mend]:
    yield changing(f"Call it {Plan().name}", "", name=Plan().name)


_NUMBERS = (
    ("training", TRAINING_LIMITS),
    ("training.checkpoint", CHECKPOINT_LIMITS),
    ("training.early_stopping", EARLY_STOPPING_LIMITS),
    ("data", DATA_LIMITS),
    ("distribution.placed", PLACED_LIMITS),
)
WAYS: tuple[tuple[str, Way], ...] = (
    ("name", _name),
    ("devices.visible", device_ways.visible),
    ("devices.memory_growth", device_ways.growth),
    ("devices.carve", device_ways.carve),
    ("model.name", source_ways.model_name),
    ("model.options", source_ways.model_option),
    ("data.name", source_ways.data_name),
    ("data.options", source_ways.data_option),
    ("training.batch_size", training_ways.batch),
    ("training.options", training_ways.optimizer_option),
    ("training.optimizer", training_ways.optimizer),
    ("training.schedule", training_ways.schedule),
    ("training.loss", training_ways.loss),
    ("training.metrics", training_ways.metric),
    ("training.early_stopping.monitor", training_ways.stopping_monitor),
    ("training.checkpoint.monitor", training_ways.checkpoint_monitor),
    ("distribution.strategy", distribution_ways.strategy),
    ("distribution.devices", distribution_ways.devices),
    ("distribution.parameter_device", distribution_ways.parameter_device),
    ("distribution.all_reduce", distribution_ways.all_reduce),
    *((f"{part}.{option.name}", _usual(part, option)) for part, limits in _NUMBERS for option in limits),
    ("distribution.placed", distribution_ways.placed),
)
"""The ways out of the problems of a field, or of what is in it."""
