"""Edits of a plan's cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpu_studio.plan import Plan
from gpu_studio.plan.cluster_values import Cluster, Kubernetes, Slurm

_SCHEDULERS: Mapping[str, type[Slurm | Kubernetes]] = {"slurm": Slurm, "kubernetes": Kubernetes}


def set_cluster(plan: Plan, **values: Any) -> Plan:
    """`plan` with these fields of its cluster, and the others as they are."""
    return replace(plan, cluster=replace(plan.cluster or Cluster(), **values))


def scheduler_of(plan: Plan, scheduler: str) -> Slurm | Kubernetes:
    """What the plan asks of a scheduler, `slurm` or `kubernetes`: the defaults if nothing."""
    found: Slurm | Kubernetes | None = getattr(plan.cluster, scheduler, None)
    return found or _SCHEDULERS[scheduler]()


def set_scheduler(plan: Plan, scheduler: str, **values: Any) -> Plan:
    """`plan` with these fields of what it asks of a scheduler; without the table if all default."""
    made = replace(scheduler_of(plan, scheduler), **values)
    return set_cluster(plan, **{scheduler: None if made == _SCHEDULERS[scheduler]() else made})
