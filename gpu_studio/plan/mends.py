"""An obvious way out of a problem, as a change of the plan that really removes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpu_studio.plan.limits import CHECKPOINT_LIMITS, DATA_LIMITS, EARLY_STOPPING_LIMITS, PLACED_LIMITS, TRAINING_LIMITS
from gpu_studio.plan.machine import Machine
from gpu_studio.plan.mending import Mend, changing
from gpu_studio.plan.options import Option
from gpu_studio.plan.problems import Problem
from gpu_studio.plan.validation import RULES
from gpu_studio.plan.values import Plan
from gpu_studio.plan.ways import device_ways, distribution_ways, source_ways, training_ways

Way = Callable[[Problem, Plan, Machine], Iterator[Mend]]


def mend_of(problem: Problem, plan: Plan, machine: Machine) -> Mend | None:
    """The first way out after which the problem is gone and there are fewer of them; None if none is obvious.

    Problems that the rules do not find themselves (a file that is not there) have none.
    """
    (mend,) = mends_of((problem,), plan, machine)
    return mend


def mends_of(problems: Sequence[Problem], plan: Plan, machine: Machine) -> tuple[Mend | None, ...]:
    """For each of the problems of one plan its way out, as `mend_of` gives it."""
    before = Findings(plan, machine)
    return tuple(before.mend_of(problem) for problem in problems)


class Findings:
    """What each rule finds in a plan, so that of a mended one only those are asked that read what was changed."""

    def __init__(self, plan: Plan, machine: Machine) -> None:
        self._plan, self._machine = plan, machine
        self._found = [tuple(rule(plan, machine)) for _, rule in RULES]
        self._count = sum(map(len, self._found))

    def mend_of(self, problem: Problem) -> Mend | None:
        """The first way out after which the problem is gone and there are fewer of them; None if none is obvious."""
        if not any(problem in found for found in self._found):
            return None
        ways = (way for field, way in WAYS if _is_in(problem.field, field))
        mends = (mend for way in ways for mend in way(problem, self._plan, self._machine))
        return next((mend for mend in mends if self._is_mended(mend.make(self._plan), problem)), None)

    def _is_mended(self, mended: Plan, problem: Problem) -> bool:
        # Parts that a change leaves alone are the same objects: comparing values would cost more than it saves.
        changed = {part for part in Plan.__slots__ if getattr(mended, part) is not getattr(self._plan, part)}
        count = 0
        for (reads, rule), found in zip(RULES, self._found, strict=True):
            after = found if reads.isdisjoint(changed) else tuple(rule(mended, self._machine))
            count += len(after)
            if count >= self._count or problem in after:
                return False
        return True


def _is_in(field: str, whole: str) -> bool:
    return field == whole or field.startswith((f"{whole}.", f"{whole}["))


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
    ("data.split", source_ways.split),
    ("data.groups", source_ways.groups),
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
