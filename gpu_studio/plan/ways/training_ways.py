"""Ways out of problems of `[training]`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpu_studio.plan.catalogue import OPTIMIZERS, SCHEDULES
from gpu_studio.plan.keras_names import LOSSES, METRICS
from gpu_studio.plan.logical import replica_count
from gpu_studio.plan.machine import Machine
from gpu_studio.plan.mending import Mend, changing
from gpu_studio.plan.problems import Problem, nearest
from gpu_studio.plan.rules.training_rules import measured
from gpu_studio.plan.values import Named, Plan
from gpu_studio.plan.ways.place import index_in, leave_out, left, put, without


def batch(_problem: Problem, plan: Plan, machine: Machine) -> Iterator[Mend]:
    """A sample for each replica."""
    count = max(1, replica_count(plan, machine))
    yield changing(f"Use {count:,}", "training", batch_size=count)


def optimizer_option(problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """Leave the option out; or all of them."""
    yield changing(leave_out(problem), "training", options=left(problem, plan.training.options))
    yield changing("Leave the options out", "training", options={})


def optimizer(_problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """The nearest name."""
    name = nearest(plan.training.optimizer, OPTIMIZERS) or "adam"
    yield changing(f"Use {name}", "training", optimizer=name)


def schedule(_problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """The nearest name; or the defaults of this schedule; or none."""
    chosen = plan.training.schedule
    if chosen is None:
        return
    close = nearest(chosen.name, SCHEDULES)
    if close and close != chosen.name:
        yield changing(f"Use {close}", "training", schedule=Named(close, chosen.options))
    yield changing("Use its defaults", "training", schedule=Named(chosen.name))
    yield changing("No schedule", "training", schedule=None)


def loss(_problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """The nearest name; or what suits the data."""
    close = nearest(plan.training.loss.name, LOSSES)
    if close:
        yield changing(f"Use {close}", "training", loss=Named(close, plan.training.loss.options))
    yield changing("Use auto", "training", loss=Named("auto"))


def metric(problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """The nearest name; or leave it out."""
    metrics = plan.training.metrics
    index = index_in(problem, metrics)
    if index is None:
        return
    close = nearest(metrics[index].name, METRICS)
    if close:
        named = put(metrics, index, Named(close, metrics[index].options))
        yield changing(f"Use {close}", "training", metrics=named)
    yield changing("Leave it out", "training", metrics=without(metrics, index))


def stopping_monitor(_problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """The loss, of the validation samples if there are any."""
    rule = plan.training.early_stopping
    if rule is not None:
        for name in _losses(plan):
            yield changing(f"Monitor {name}", "training", early_stopping=replace(rule, monitor=name))


def checkpoint_monitor(_problem: Problem, plan: Plan, _machine: Machine) -> Iterator[Mend]:
    """The loss, of the validation samples if there are any."""
    yield from (changing(f"Monitor {name}", "training.checkpoint", monitor=name) for name in _losses(plan))


def _losses(plan: Plan) -> list[str]:
    return [name for name in ("val_loss", "loss") if name in measured(plan)]
