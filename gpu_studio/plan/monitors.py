"""Which of two values of a measure is the better one, told by its name."""

from __future__ import annotations

VALIDATION = "val_"
# Parts of the names of Keras' metrics of which more is better; of every other value, less is.
_MORE = ("accuracy", "auc", "precision", "recall", "f1", "fbeta", "score", "iou", "similarity", "r2", "true_", "at_")


def more_is_better(monitor: str) -> bool:
    """Whether the greater value of a measure (`val_loss`, `accuracy`) is the better one."""
    name = monitor.removeprefix(VALIDATION)
    return "loss" not in name and any(part in name for part in _MORE)
