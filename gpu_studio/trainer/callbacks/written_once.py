"""What callbacks write where several workers train together: each calls all of them, one writes.

All must call them, for what a callback changes (a learning rate, weights, the end of the training)
must change in each worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from gpu_studio.contract import Log
from gpu_studio.plan import listed
from gpu_studio.trainer.callbacks.made import MadeCallback

_WRITING = (
    keras.callbacks.CSVLogger,
    keras.callbacks.RemoteMonitor,
    keras.callbacks.TensorBoard,
)
"""Callbacks of Keras' that write, and change nothing."""


def only_writes(callback: Any) -> bool:
    """Whether nothing is lost where another worker calls this callback."""
    return type(callback) in _WRITING


def save_nothing(model: Any) -> None:
    """Let the model save nothing: another worker writes the same weights to the same files."""

    def saved_elsewhere(*_given: Any, **_named: Any) -> None:
        pass

    for name in ("save", "save_weights", "export"):
        setattr(model, name, saved_elsewhere)


def called_by_each(made: Sequence[MadeCallback], workers: int) -> Log | None:
    """Say which callbacks of the user's own every one of so many workers calls; None if no one."""
    own = list(dict.fromkeys(each.name for each in made if _is_own(each.callback)))
    if workers < 2 or not own:
        return None
    return Log(
        message=f"Each of {workers} workers calls {listed(own)}: a file that its own code writes "
        f"is written {workers} times. What Keras' callbacks write, and what the model saves, is "
        "written by worker 0 alone."
    )


def _is_own(callback: Any) -> bool:
    kind = type(callback)
    return kind is keras.callbacks.LambdaCallback or not kind.__module__.startswith("keras.")
