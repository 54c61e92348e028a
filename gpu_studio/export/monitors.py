"""What is watched to tell which epoch was the best."""

from __future__ import annotations

from gpu_studio.export.facts import Facts
from gpu_studio.plan.rules.training_rules import measured

VALIDATION = "val_"
# Parts of the names of Keras' metrics of which more is better; of every other value, less is.
_MORE = ("accuracy", "auc", "precision", "recall", "f1", "fbeta", "score", "iou", "similarity", "r2", "true_", "at_")


def monitored(facts: Facts, monitor: str) -> str:
    """The measure meant by `monitor`: of the training split where nothing is validated."""
    if monitor in measured(facts.plan) or not monitor.startswith(VALIDATION):
        return monitor
    return monitor.removeprefix(VALIDATION)


def more_is_better(monitor: str) -> bool:
    """Whether the greater value of a measure is the better one."""
    name = monitor.removeprefix(VALIDATION)
    return "loss" not in name and any(part in name for part in _MORE)
