"""Callbacks that record how they are called, for `fit` and for a run alike.

Import it only in processes with TensorFlow.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

Records = list[list[Any]]


class Epochs(keras.callbacks.Callback):  # type: ignore[misc]
    """Records what is called once or for each epoch, and what the model answers then."""

    def __init__(self, records: Records) -> None:
        super().__init__()
        self.records = records

    def note(self, hook: str, *values: Any) -> None:
        self.records.append([hook, *json.loads(json.dumps(values))])

    def on_train_begin(self, logs: Any = None) -> None:
        self.note("on_train_begin", logs, self.params["epochs"], self.params["steps"])

    def on_train_end(self, logs: Any = None) -> None:
        self.note("on_train_end", logs)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.note("on_epoch_begin", epoch, logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.note("on_epoch_end", epoch, logs, float(self.model.optimizer.learning_rate))

    def on_test_begin(self, logs: Any = None) -> None:
        self.note("on_test_begin", logs)

    def on_test_end(self, logs: Any = None) -> None:
        self.note("on_test_end", logs)


class Steps(Epochs):
    """Records what is called for each step as well."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.note("on_train_batch_begin", batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.note("on_train_batch_end", batch, logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.note("on_test_batch_begin", batch, logs)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        self.note("on_test_batch_end", batch, logs)


class Answers(Epochs):
    """Asks the model at the end of each epoch, and halves its first weights after the first."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        x = np.linspace(-1, 1, 84).reshape(7, 12).astype("float32")
        y = np.arange(7) % 4
        weights = self.model.get_weights()
        answers = self.model.predict(x, verbose=0).sum(), self.model(x).numpy().sum()
        measured = self.model.evaluate(x, y, batch_size=4, verbose=0, return_dict=True)
        sums = [*map(np.sum, answers), *map(np.sum, weights)]
        self.note("answers", [float(each) for each in sums], dict(sorted(measured.items())))
        if epoch == 0:
            self.model.set_weights([weights[0] / 2, *weights[1:]])
        logs["own"] = 2.0 * epoch


class Ends(keras.callbacks.Callback):  # type: ignore[misc]
    """Ends the training in an epoch, after a step of it or at its end."""

    def __init__(self, epoch: int, step: int | None = None) -> None:
        super().__init__()
        self.epoch, self.step, self.now = epoch, step, 0
        if step is not None:
            self.on_batch_end = self._after_step

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.now = epoch

    def _after_step(self, batch: int, logs: Any = None) -> None:
        if (self.now, batch) == (self.epoch, self.step):
            self.model.stop_training = True

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch == self.epoch and self.step is None:
            self.model.stop_training = True


def _plateau(**options: Any) -> Any:
    return keras.callbacks.ReduceLROnPlateau(
        monitor="val_loss", factor=0.5, min_delta=10.0, **options
    )


KINDS: dict[str, Callable[[Records], list[Any]]] = {
    "epochs": lambda records: [Epochs(records)],
    "steps": lambda records: [Steps(records)],
    "answers": lambda records: [
        Answers(records),
        _plateau(patience=1),
        Ends(2),
        Epochs(records),
    ],
    "plateau": lambda records: [_plateau(patience=1, cooldown=1, min_lr=0.03), Epochs(records)],
    "early": lambda records: [
        keras.callbacks.EarlyStopping(
            monitor="val_sparse_categorical_accuracy",
            min_delta=0.9,
            patience=2,
            restore_best_weights=True,
        ),
        _plateau(patience=2),
        Epochs(records),
    ],
    # Each keeps something between two `on_train_begin`; the last ends what ends anyway.
    "phases": lambda records: [
        keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.9),
        keras.callbacks.EarlyStopping(
            monitor="val_loss", patience=2, min_delta=10.0, restore_best_weights=True
        ),
        _plateau(patience=1, cooldown=1),
        Ends(2),
        Epochs(records),
    ],
    "ends": lambda records: [Ends(2)],
    "ends in an epoch": lambda records: [Ends(1, 1), Steps(records)],
}
