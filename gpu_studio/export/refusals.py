"""What a script cannot do, said before one is written."""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_studio.export.errors import ExportError
from gpu_studio.export.keras_classes import METRIC_CLASSES
from gpu_studio.plan import Machine, Placed, Plan, replicas, validate
from gpu_studio.plan.catalogue import OPTIMIZERS
from gpu_studio.plan.keras_names import METRICS, keras_name
from gpu_studio.plan.problems import PlanError, shown
from gpu_studio.plan.rules.distribution_rules import SPREADING

STRATEGIES = ("none", "one_device", "mirrored", "central_storage", "placed")
"""The strategies that a script can be written for."""

_FIXED = ("name", "dtype", "reduction", "learning_rate")
_ONE_REPLICA = ("gradient_accumulation_steps", "ema_overwrite_frequency")


def check(plan: Plan, machine: Machine | None) -> None:
    """Raises ExportError, in words, for a plan that is not valid or that no script can carry out."""
    if plan.distribution.strategy not in STRATEGIES:
        raise ExportError(
            f"The strategy {shown(plan.distribution.strategy)} cannot be written as a script of its own. "
            f"Choose one of {', '.join(STRATEGIES)}."
        )
    # Not against the machine: a plan may be meant for another one, which is why it is exported.
    if problems := validate(plan):
        raise ExportError(str(PlanError(problems, f"The plan {shown(plan.name)}")))
    for reason in [*_options(plan), *_replicas(plan, machine), *_placed(plan), *_warm_up(plan)]:
        raise ExportError(reason)


def _options(plan: Plan) -> Iterator[str]:
    training = plan.training
    yield from _names("training.options", training.options)
    yield from _names("training.loss", training.loss.options)
    for index, metric in enumerate(training.metrics):
        field = f"training.metrics[{index}]"
        yield from _names(field, metric.options)
        fitting = METRIC_CLASSES.get(keras_name(metric.name, METRICS) or "")
        if fitting and fitting.probabilities and "from_logits" in metric.options:
            yield f"{field}.from_logits is no option here: the metric is given probabilities. Leave it out."
    if training.options.get("use_ema") and not training.options.get("ema_overwrite_frequency"):
        yield (
            "training.options.use_ema alone keeps averages of the weights but never uses them. "
            "Set training.options.ema_overwrite_frequency too."
        )


def _names(field: str, given: Mapping[str, Any]) -> Iterator[str]:
    for key, value in given.items():
        if not _is_name(key) or key in _FIXED:
            yield f"{field} has {shown(key)}, which is not an option of Keras. Leave it out."
        elif isinstance(value, Mapping):
            yield f"{field}.{key} is a table, and Keras has no option that takes one. Leave it out."


def _replicas(plan: Plan, machine: Machine | None) -> Iterator[str]:
    """Keras 3 puts these into a conditional that changes variables in each replica, which tf.distribute forbids."""
    chosen = plan.distribution
    if chosen.strategy not in SPREADING or (machine and len(replicas(plan, machine)) < 2):
        return
    for option in _ONE_REPLICA:
        if plan.training.options.get(option):
            yield (
                f"Keras cannot carry out training.options.{option} on several replicas. "
                'Leave it out, or set distribution.strategy = "none".'
            )
    if chosen.strategy == "central_storage" and keras_name(plan.training.optimizer, OPTIMIZERS) in ("nadam", "muon"):
        yield (
            f"Keras cannot carry out the optimizer {plan.training.optimizer} under central_storage. "
            'Choose another, or set distribution.strategy = "mirrored".'
        )


def _placed(plan: Plan) -> Iterator[str]:
    """What a script would need much of the trainer for, to do it as a run does."""
    if plan.distribution.strategy != "placed":
        return
    placed = plan.distribution.placed or Placed()
    if plan.model.name is None:
        yield (
            "A script cannot place the layers of a model from a file, which only Keras knows. "
            "Choose a built-in model, or another strategy."
        )
    if not placed.layers:
        yield 'No layer is placed. Name some in distribution.placed.layers, or set distribution.strategy = "none".'
    for name, devices in placed.layers.items():
        if len(devices) > 1:
            yield (
                f"The layer {shown(name)} is split over {', '.join(devices)}, and scripts keep layers whole. "
                f"Give it one device in distribution.placed.layers, such as {devices[0]}."
            )
    if placed.recompute:
        yield "Scripts keep all activations, and compute none again. Leave distribution.placed.recompute out."
    if keras_name(plan.training.optimizer, OPTIMIZERS) == "adafactor":
        yield "Keras puts all that adafactor keeps on the first device. Choose another training.optimizer."


def _warm_up(plan: Plan) -> Iterator[str]:
    schedule = plan.training.schedule
    if schedule and schedule.options.get("warmup_epochs", 0) >= plan.training.epochs > 0:
        yield "The learning rate's warm-up takes the whole run. Shorten training.schedule.warmup_epochs."


def _is_name(key: str) -> bool:
    """Whether Python takes `key` as that very name: it reads some letters as others (PEP 3131, NFKC)."""
    reserved = keyword.iskeyword(key) or key == "__debug__"
    return key.isidentifier() and not reserved and unicodedata.normalize("NFKC", key) == key
