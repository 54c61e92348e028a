"""Ways out of problems of `[distribution]`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpu_studio.plan.logical import replicas
from gpu_studio.plan.machine import Machine
from gpu_studio.plan.mending import Mend, changing
from gpu_studio.plan.problems import Problem, shown
from gpu_studio.plan.strategies import title_of
from gpu_studio.plan.values import Distribution, Plan
from gpu_studio.plan.ways.place import index_in, without


def strategy(_problem: Problem, plan: Plan, machine: Machine) -> Iterator[Mend]:
    """Mirrored where there are several devices for it, else none."""
    several = len(replicas(replace(plan, distribution=Distribution("mirrored")), machine)) > 1
    for name in ("mirrored", "none") if several else ("none",):
        yield changing(f"Use {title_of(name)}", "", distribution=Distribution(name))


def devices(problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """Take one name out; as many as the strategy has a use for; each once; or all there are."""
    names, chosen = plan.distribution.devices, plan.distribution.strategy
    index = index_in(problem, names)
    if index is not None and len(names) > 1:
        yield changing(f"Take {shown(names[index])} out", "distribution", devices=without(names, index))
    if chosen == "one_device" and names:
        yield changing(f"Use {shown(names[0])}", "distribution", devices=names[:1])
    yield changing("Name each once", "distribution", devices=tuple(dict.fromkeys(names)))
    label = "Use all devices" if chosen not in ("none", "one_device") else "Use the first device"
    yield changing(label, "distribution", devices=())


def parameter_device(_problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """Leave it to the trainer, or to the strategy that has none."""
    yield changing("Leave it out", "distribution", parameter_device=None)


def all_reduce(_problem: Problem, _plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """What suits the devices."""
    yield changing("Use auto", "distribution", all_reduce="auto")


def placed(_problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """Leave out a placement that its strategy does not use; where it is used, only a person can say what is meant."""
    if plan.distribution.strategy != "placed":
        yield changing("Leave the placement out", "distribution", placed=None)
