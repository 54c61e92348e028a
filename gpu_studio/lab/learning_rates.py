"""Rules of thumb for the learning rate of another batch, with their sources."""

from __future__ import annotations

import math
from typing import Final

from gpu_studio.common.figures import grouped
from gpu_studio.plan import Plan

_LINEAR: Final = ("sgd",)
_BY_THE_ROOT: Final = ("adam", "adamw", "adamax", "nadam", "rmsprop")
_GOYAL: Final = (
    "as the batch does, with a warm-up over the first epochs (Goyal et al. 2017, arXiv:1706.02677; "
    "before them Krizhevsky 2014, arXiv:1404.5997)"
)
_MALLADI: Final = (
    "as the square root of the batch (Malladi et al. 2022, arXiv:2205.10287, of Adam and RMSprop)"
)


def rule_of_thumb(plan: Plan, batch: int) -> str:
    """What the learning rate of `plan` becomes with another batch, by its optimizer, in words."""
    training = plan.training
    name, times = training.optimizer, batch / training.batch_size
    if name == "auto" and plan.model.name:  # a built-in model brings no optimizer of its own
        name = "adam"
    if name in _LINEAR:
        return _said(plan, batch, f"with {name} it grows {_GOYAL}", times)
    if name in _BY_THE_ROOT:
        return _said(plan, batch, f"with {name} it grows {_MALLADI}", math.sqrt(times))
    return (
        f"Rules of thumb for the learning rate: with sgd it grows {_GOYAL}; with adam {_MALLADI}. "
        "For another optimizer a sweep of learning rates tells."
    )


def _said(plan: Plan, batch: int, rule: str, times: float) -> str:
    training = plan.training
    if batch == training.batch_size:
        return f"Rule of thumb for the learning rate of another batch: {rule}."
    return (
        f"Rule of thumb for the learning rate: {rule}: {training.learning_rate:g} at batch "
        f"{grouped(training.batch_size)} becomes {training.learning_rate * times:.2g} at "
        f"{grouped(batch)}."
    )
