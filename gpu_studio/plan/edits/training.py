"""Edits of how a plan trains."""

from __future__ import annotations

from dataclasses import replace

from gpu_studio.plan import EarlyStopping, Named, Plan
from gpu_studio.plan.catalogue import data_entry
from gpu_studio.plan.keras_objects import METRICS, METRICS_OF, keras_name


def set_training(plan: Plan, **values: object) -> Plan:
    """`plan` with these fields of its training part."""
    return replace(plan, training=replace(plan.training, **values))  # type: ignore[arg-type]


def set_optimizer(plan: Plan, name: str) -> Plan:
    """`plan` with another optimizer, without the options of the previous one."""
    same = name == plan.training.optimizer
    return plan if same else set_training(plan, optimizer=name, options={})


def set_schedule(plan: Plan, name: str | None) -> Plan:
    """`plan` with another schedule and its default options, or with none."""
    now = plan.training.schedule
    if (now.name if now else None) == name:
        return plan
    return set_training(plan, schedule=None if name is None else Named(name))


def set_loss(plan: Plan, name: str) -> Plan:
    """`plan` with another loss and its default options."""
    return plan if name == plan.training.loss.name else set_training(plan, loss=Named(name))


def add_metric(plan: Plan) -> Plan:
    """`plan` with one more metric: the first that suits the data and is not there yet."""
    metrics = plan.training.metrics
    return set_training(plan, metrics=(*metrics, Named(_next_metric(plan))))


def set_metric(plan: Plan, index: int, name: str) -> Plan:
    """`plan` with another metric at this index, with its default options."""
    metrics = plan.training.metrics
    if index >= len(metrics) or metrics[index].name == name:
        return plan
    return set_training(plan, metrics=(*metrics[:index], Named(name), *metrics[index + 1 :]))


def remove_metric(plan: Plan, index: int) -> Plan:
    """`plan` without the metric at this index."""
    metrics = plan.training.metrics
    return set_training(plan, metrics=(*metrics[:index], *metrics[index + 1 :]))


def stop_early(plan: Plan, on: bool) -> Plan:
    """`plan` with or without early stopping."""
    if on == (plan.training.early_stopping is not None):
        return plan
    return set_training(plan, early_stopping=EarlyStopping() if on else None)


def _next_metric(plan: Plan) -> str:
    if not plan.training.metrics:
        return "auto"
    data = data_entry(plan.data)
    fitting = METRICS_OF[data.task] if data else METRICS[1:]
    # `auto` stands for the first one that fits.
    taken = {
        fitting[0] if each.name == "auto" else keras_name(each.name, fitting)
        for each in plan.training.metrics
    }
    return next((name for name in fitting if name not in taken), fitting[0])
