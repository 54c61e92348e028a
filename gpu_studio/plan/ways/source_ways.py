"""Ways out of problems of `[model]` and `[data]`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_studio.plan.catalogue import DATA, MODELS
from gpu_studio.plan.machine import Machine
from gpu_studio.plan.mending import Mend, changing
from gpu_studio.plan.problems import Problem, nearest
from gpu_studio.plan.starter import starter
from gpu_studio.plan.values import Plan
from gpu_studio.plan.ways.place import leave_out, left


def model_name(_problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """The nearest built-in, else the first that suits the data; with the options as they are, else without."""
    names = _likely(plan.model.name, MODELS)
    yield from (changing(f"Use {name}", "model", name=name) for name in names)
    yield from (changing(f"Use {name}", "model", name=name, options={}) for name in names)


def data_name(_problem: Problem, plan: Plan, machine: Machine) -> Iterator[Mend]:
    """The nearest built-in, else the data of the starter plan."""
    usual = starter(machine).data.name
    for name in _likely(plan.data.name, DATA)[:1] if plan.data.name else [usual]:
        yield changing(f"Use {name}", "data", name=name)
    yield changing(f"Use {usual}", "data", name=usual, options={})


def model_option(problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """Leave the option out."""
    yield changing(leave_out(problem), "model", options=left(problem, plan.model.options))


def data_option(problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """Leave the option out."""
    yield changing(leave_out(problem), "data", options=left(problem, plan.data.options))


def split(_problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """Draw the samples at random."""
    yield changing("Split at random", "data", split="random", groups=None)


def groups(problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """Split by the groups, or leave them out."""
    yield changing("Split by group", "data", split="grouped")
    yield changing(leave_out(problem), "data", groups=None)


def _likely(name: str | None, known: Iterable[str]) -> list[str]:
    names = list(known)
    close = nearest(name, names) if name else None
    return list(dict.fromkeys([close, *names])) if close else names
