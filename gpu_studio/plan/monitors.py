"""Which of two values of a metric is better, judged by the metric's name."""

from __future__ import annotations

VALIDATION = "val_"
# Parts of the names of Keras' metrics for which higher is better; for all others, lower is.
_MORE = (
    "accuracy",
    "auc",
    "precision",
    "recall",
    "f1",
    "fbeta",
    "score",
    "iou",
    "similarity",
    "r2",
    "true_",
    "at_",
)


def more_is_better(monitor: str) -> bool:
    """Whether a higher value of a metric (`val_loss`, `accuracy`) is better."""
    name = monitor.removeprefix(VALIDATION)
    return "loss" not in name and any(part in name for part in _MORE)
