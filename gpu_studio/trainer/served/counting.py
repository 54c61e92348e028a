"""The count of steps that an optimizer goes by, where several workers do steps at the same time.

Keras counts by reading a variable and writing it back: of 400 steps by two workers it counted 259,
and Adam's bias correction and every schedule went by that. Here the chief numbers the steps, and
each step goes by its own number.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf


class _Count:
    """Stands for the optimizer's own count, which it does not change."""

    def __init__(self, number: Any) -> None:
        self._number = number

    def __add__(self, other: Any) -> Any:
        return self._number + other

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        return tf.convert_to_tensor(self._number, dtype=dtype, name=name)

    def assign_add(self, by: Any) -> None:
        """The chief counts."""


@contextmanager
def counted(optimizer: Any, number: Any) -> Iterator[None]:
    """While this is entered, the optimizer goes by the step with this number, from 0.

    `number` is a tensor of TensorFlow's, an int64 scalar.
    """
    held = vars(optimizer)
    kept = {name: held[name] for name in ("_iterations", "_learning_rate")}
    rate = kept["_learning_rate"]
    try:
        held["_iterations"] = _Count(number)
        if isinstance(rate, keras.optimizers.schedules.LearningRateSchedule):
            held["_learning_rate"] = lambda: rate(number)
        yield
    finally:
        held.update(kept)
