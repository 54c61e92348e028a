"""How a plan distributes its work, in a few words."""

from __future__ import annotations

from gpu_studio.common.figures import plural
from gpu_studio.plan import Machine, Placed, Plan, replicas
from gpu_studio.plan.gradients import effective
from gpu_studio.plan.replication import parameter_home
from gpu_studio.plan.strategies import Strategy, strategy_of


def in_brief(plan: Plan, machine: Machine) -> str:
    """Return the pace, the replicas and the all-reduce.

    `synchronous · 8 replicas · gradients by nccl`.

    Empty for a strategy that cannot run here: none of it would happen.
    """
    strategy = strategy_of(plan)
    return "" if strategy.why_not else " · ".join([strategy.pace, *_where(plan, machine, strategy)])


def _where(plan: Plan, machine: Machine, strategy: Strategy) -> list[str]:
    names = replicas(plan, machine)
    count = plural(len(names), "replica")
    if strategy.places_layers:
        part = plan.distribution.placed or Placed()
        cut = "whole batches" if part.micro_batches == 1 else f"{part.micro_batches} micro-batches"
        return [plural(len(part.layers), "layer") + " placed", cut]
    if strategy.sums_gradients:
        return [count, f"gradients by {effective(plan, machine).replace('_', ' ')}"]
    if home := parameter_home(plan, machine):
        return [count, f"variables on {home}"]
    return [f"on {name}" for name in names]
