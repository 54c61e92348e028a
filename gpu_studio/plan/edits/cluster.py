"""Edits of a plan's cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpu_studio.plan import Plan
from gpu_studio.plan.cluster_values import Cluster


def set_cluster(plan: Plan, **values: Any) -> Plan:
    """`plan` with these fields of its cluster, and the others as they are."""
    return replace(plan, cluster=replace(plan.cluster or Cluster(), **values))
