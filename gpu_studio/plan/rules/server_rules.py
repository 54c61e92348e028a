"""Rules for a strategy whose variables lie on servers: what its workers can do, and how."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_studio.plan.devices import CPU
from gpu_studio.plan.keras_objects import OPTIMIZERS, keras_name
from gpu_studio.plan.references import reference
from gpu_studio.plan.strategies import cluster_of, strategy_of
from gpu_studio.plan.values import Plan, Problem, listed, shown

PART = "cluster"
OVERWRITING = ("ftrl", "schedule_free_adamw")
"""Optimizers that write a weight anew in each step, instead of adding to it."""
OVERWRITING_OPTIONS = ("use_ema", "gradient_accumulation_steps")
"""Options of every optimizer that keep, from step to step, what they then write anew."""


def updates(plan: Plan) -> Iterator[Problem]:
    """How variables are updated is said only where servers hold them."""
    part, strategy = cluster_of(plan), strategy_of(plan)
    if part is not None and part.updates != "async" and not strategy.serves:
        said = f"{shown(part.updates)} with strategy {shown(strategy.name)}"
        yield Problem(f"{PART}.updates", said, "leave it out: its workers always share each step")


def here_alone(plan: Plan) -> Iterator[Problem]:
    """Servers are started on this machine, and their workers are never fewer."""
    part, strategy = cluster_of(plan), strategy_of(plan)
    if part is None or not strategy.serves:
        return
    if part.start != "local":
        said = f"{shown(part.start)} with strategy {shown(strategy.name)}"
        advice = 'servers are started on this machine only: set it to "local"'
        yield Problem(f"{PART}.start", said, advice)
    if part.with_fewer:
        said = f"true with strategy {shown(strategy.name)}"
        advice = "leave it out: while a worker is lost, the others go on with its work"
        yield Problem(f"{PART}.with_fewer", said, advice)


def on_cpus(plan: Plan) -> Iterator[Problem]:
    """The workers of servers compute on the CPU: no card is asked for."""
    if not strategy_of(plan).serves:
        return
    names, carved = plan.devices.visible, [each.device for each in plan.devices.carve]
    if any(name != CPU for name in names):
        advice = f'workers of servers compute on the CPU: leave it out, or set it to ["{CPU}"]'
        yield Problem("devices.visible", shown(names), advice)
    if any(name != CPU for name in carved):
        advice = "workers of servers compute on the CPU: leave it out"
        yield Problem("devices.carve", f"given for {listed(carved)}", advice)


def adds_to_weights(plan: Plan) -> Iterator[Problem]:
    """Where workers update on their own, an optimizer adds to a weight and never writes it anew."""
    if not alone(plan):
        return
    way = 'what others add meanwhile would be lost: set cluster.updates = "sync"'
    name = keras_name(plan.training.optimizer, OPTIMIZERS)
    if name in OVERWRITING:
        yield Problem("training.optimizer", shown(name), f"it writes weights anew, and {way}")
    for option in OVERWRITING_OPTIONS:
        if plan.training.options.get(option):
            yield Problem(f"training.options.{option}", "given with servers", way)


def schedules_without_python(plan: Plan) -> Iterator[Problem]:
    """Where workers update on their own, no function of Python gives the learning rate."""
    schedule = plan.training.schedule
    if alone(plan) and schedule is not None and reference(schedule.name) is not None:
        advice = (
            "workers of servers cannot call Python: name a schedule of Keras', or set "
            'cluster.updates = "sync"'
        )
        yield Problem("training.schedule.name", shown(schedule.name), advice)


def alone(plan: Plan) -> bool:
    """Whether each worker updates the variables on its own."""
    part = cluster_of(plan)
    return part is not None and strategy_of(plan).serves and part.updates == "async"
