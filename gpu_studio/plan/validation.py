"""All problems of a plan at once, with or without a machine to check it against."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from gpu_studio.plan import freezing
from gpu_studio.plan.devices import Machine
from gpu_studio.plan.rules import (
    cluster_rules,
    device_rules,
    distribution_rules,
    server_rules,
    source_rules,
    training_rules,
)
from gpu_studio.plan.strategies import cluster_of, strategy_of
from gpu_studio.plan.values import VERSION, Plan, Problem

Rule = Callable[[Plan, Machine | None], Iterator[Problem]]


def version(plan: Plan) -> Iterator[Problem]:
    """The plan has the supported format version."""
    if plan.version != VERSION:
        yield Problem("version", str(plan.version)[:40], f"this GPU Studio reads version {VERSION}")


def _alone(rule: Callable[[Plan], Iterator[Problem]]) -> Rule:
    """Give a rule that needs no machine the signature of one that does."""
    return lambda plan, _: rule(plan)


RULES: tuple[tuple[frozenset[str], Rule], ...] = tuple(
    (frozenset(reads.split()), rule)
    for reads, rule in (
        ("version", _alone(version)),
        ("name", _alone(training_rules.name)),
        ("devices", device_rules.visible_names),
        ("devices", device_rules.lost_cards),
        ("devices", device_rules.one_instance),
        ("devices", device_rules.carved_names),
        ("devices", device_rules.slices),
        ("devices", _alone(device_rules.growth)),
        ("model", _alone(source_rules.model_source)),
        ("model", _alone(source_rules.width_of_heads)),
        ("model training", _alone(freezing.frozen_entries)),
        ("training", _alone(freezing.phases)),
        ("data", _alone(source_rules.data_source)),
        ("data", _alone(source_rules.fractions)),
        ("data", source_rules.synthetic_fits),
        ("data", _alone(source_rules.split_suits)),
        ("data", _alone(source_rules.groups_named)),
        ("model data", _alone(source_rules.model_meets_data)),
        ("training", _alone(training_rules.numbers)),
        ("model training", _alone(training_rules.optimizer)),
        ("model training", _alone(training_rules.schedule)),
        ("model training", _alone(training_rules.loss_and_metrics)),
        ("model data training", _alone(training_rules.fit_the_data)),
        ("model data training", _alone(training_rules.metrics_once)),
        ("training", _alone(training_rules.class_weight)),
        ("data training", _alone(training_rules.as_in_script)),
        ("model data distribution", _alone(training_rules.later_fits)),
        ("model data training", _alone(training_rules.monitors)),
        ("model data training", _alone(training_rules.callbacks)),
        ("distribution", _alone(distribution_rules.strategy)),
        ("distribution", _alone(distribution_rules.devices_of_strategy)),
        ("training distribution", _alone(distribution_rules.compiled_steps)),
        ("devices distribution", distribution_rules.device_names),
        ("devices distribution", distribution_rules.places),
        ("training distribution", _alone(distribution_rules.micro_batches)),
        ("training distribution", _alone(distribution_rules.whole_weights)),
        ("devices distribution", distribution_rules.all_reduce),
        ("devices training distribution cluster", distribution_rules.enough_for_each),
        ("distribution cluster", _alone(cluster_rules.belongs)),
        ("cluster", _alone(cluster_rules.numbers)),
        ("distribution cluster", _alone(cluster_rules.servers)),
        ("devices distribution cluster", cluster_rules.local_cards),
        ("distribution cluster", _alone(server_rules.updates)),
        ("distribution cluster", _alone(server_rules.here_alone)),
        ("devices distribution", _alone(server_rules.on_cpus)),
        ("model training distribution cluster", _alone(server_rules.adds_to_weights)),
        ("training distribution cluster", _alone(server_rules.schedules_without_python)),
        ("training distribution cluster", _alone(cluster_rules.elastic)),
        ("cluster", _alone(cluster_rules.slurm)),
        ("distribution cluster", _alone(cluster_rules.kubernetes)),
    )
)
"""Each rule with the parts of a plan that it reads."""


def validate(plan: Plan, machine: Machine | None = None) -> list[Problem]:
    """Every problem of the plan; an empty list if it can run.

    With a machine, also whether its devices exist, its carves fit and its replicas have work, where
    the run is of this machine. Never raises.
    """
    cluster = cluster_of(plan)
    # Servers are started on this machine only, also where the plan (wrongly) says otherwise.
    elsewhere = cluster is not None and cluster.start != "local" and not strategy_of(plan).serves
    if elsewhere:
        machine = None
    return [problem for _, rule in RULES for problem in rule(plan, machine)]


def problems_besides(plan: Plan, found: Collection[Problem]) -> list[Problem]:
    """What the rules find in a plan of which the parts in `found` could not be read.

    Consequences of those are left out: a rule over several parts runs only if all of them could be
    read; in a partly read part nothing is called missing, and nothing said about the same field.
    """
    faulty = {_field(problem) for problem in found}
    parts = {field.partition(".")[0] for field in faulty}
    asked = [(reads, rule) for reads, rule in RULES if len(reads) == 1 or reads.isdisjoint(parts)]
    for_each = [(reads, problem) for reads, rule in asked for problem in rule(plan, None)]
    return [
        problem
        for reads, problem in for_each
        if reads.isdisjoint(parts)
        or (problem.received != "missing" and _field(problem) not in faulty)
    ]


def _field(problem: Problem) -> str:
    """The part and the key that a problem is in; `devices.carve` for everything inside a carve."""
    return ".".join(re.sub(r"\[\d+\]", "", problem.field).split(".")[:2])
