"""The distribution strategies, one in each file, in the order in which they are shown.

Callers ask a strategy what it does and never compare its name. Those that run have counterparts of
the same name in `trainer/strategies` and `export/strategies`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_studio.plan.cluster_values import Cluster
from gpu_studio.plan.strategies.central_storage import CENTRAL_STORAGE
from gpu_studio.plan.strategies.mirrored import MIRRORED
from gpu_studio.plan.strategies.multi_worker import MULTI_WORKER
from gpu_studio.plan.strategies.none import NONE
from gpu_studio.plan.strategies.one_device import ONE_DEVICE
from gpu_studio.plan.strategies.parameter_server import PARAMETER_SERVER
from gpu_studio.plan.strategies.placed import PLACED
from gpu_studio.plan.strategies.strategy import Strategy, unknown
from gpu_studio.plan.strategies.tpu import TPU
from gpu_studio.plan.values import Placed, Plan

__all__ = [
    "BY_NAME",
    "CENTRAL_STORAGE",
    "MIRRORED",
    "MULTI_WORKER",
    "NONE",
    "ONE_DEVICE",
    "PARAMETER_SERVER",
    "PLACED",
    "RUNNABLE_STRATEGIES",
    "STRATEGIES",
    "Strategy",
    "cluster_of",
    "placement_of",
    "strategy_named",
    "strategy_of",
]

BY_NAME: Mapping[str, Strategy] = {
    each.name: each
    for each in (
        NONE,
        ONE_DEVICE,
        MIRRORED,
        CENTRAL_STORAGE,
        MULTI_WORKER,
        PARAMETER_SERVER,
        TPU,
        PLACED,
    )
}
STRATEGIES = tuple(BY_NAME)
"""The names that a plan file may give."""
RUNNABLE_STRATEGIES = tuple(each.name for each in BY_NAME.values() if not each.why_not)
"""Those that this version runs."""


def strategy_named(name: str) -> Strategy:
    """The strategy that a plan or a run's event names; a stand-in where the name is not known."""
    return BY_NAME.get(name) or unknown(name)


def strategy_of(plan: Plan) -> Strategy:
    """The strategy that the plan names."""
    return strategy_named(plan.distribution.strategy)


def placement_of(plan: Plan) -> Placed | None:
    """The plan's placement of layers, if its strategy places layers and the plan says how."""
    return plan.distribution.placed if strategy_of(plan).places_layers else None


def cluster_of(plan: Plan) -> Cluster | None:
    """The processes of a run of the plan; None if its strategy runs as a single one.

    A strategy that has servers has one where the plan gives none.
    """
    strategy = strategy_of(plan)
    if not strategy.clusters:
        return None
    part = plan.cluster or Cluster()
    return replace(part, servers=1) if strategy.serves and not part.servers else part
