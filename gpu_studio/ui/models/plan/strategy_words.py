"""How the work of a plan is spread, in a few words."""

from __future__ import annotations

from gpu_studio.plan import Machine, Placed, Plan, replicas
from gpu_studio.plan.gradients import effective
from gpu_studio.plan.strategies import STRATEGY_FACTS, why_not
from gpu_studio.ui.models.plan.strategy_scene import parameter_home
from gpu_studio.ui.units import plural


def in_brief(plan: Plan, machine: Machine) -> str:
    """The pace, the replicas and what is special: `synchronous · 8 replicas · gradients by nccl`.

    Empty for a strategy that cannot run here: nothing of it would come about.
    """
    chosen = plan.distribution.strategy
    if why_not(chosen):
        return ""
    return " · ".join([STRATEGY_FACTS[chosen].pace, *_where(plan, machine)])


def _where(plan: Plan, machine: Machine) -> list[str]:
    names = replicas(plan, machine)
    count = plural(len(names), "replica")
    match plan.distribution.strategy:
        case "mirrored":
            return [count, f"gradients by {effective(plan, machine).replace('_', ' ')}"]
        case "central_storage":
            return [count, f"variables on {parameter_home(plan, machine)}"]
        case "placed":
            part = plan.distribution.placed or Placed()
            cut = "whole batches" if part.micro_batches == 1 else f"{part.micro_batches} micro-batches"
            return [plural(len(part.layers), "layer") + " placed", cut]
    return [f"on {name}" for name in names]
