"""An optimizer goes by the number of the step that it is given, and counts nothing itself."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow


def updated(number: int, rate: Any, *, counts: bool) -> tuple[float, int]:
    """A weight after Adam has made step `number` with a gradient of 1, and what it has counted.

    With `counts` by its own count, else by the number that it is given.
    """
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.served.counting import counted

    weight = keras.Variable([0.0])
    optimizer = keras.optimizers.Adam(rate)
    optimizer.build([weight])
    if counts:
        optimizer.iterations.assign(number)
        optimizer.apply([tf.constant([1.0])], [weight])
    else:
        with counted(optimizer, tf.constant(number, tf.int64)):
            optimizer.apply([tf.constant([1.0])], [weight])
    return float(weight.numpy()[0]), int(optimizer.iterations.numpy())


@pytest.mark.parametrize("number", [0, 1, 40])
def test_that_bias_correction_and_schedule_go_by_the_number_of_the_step(number: int) -> None:
    import keras

    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    for each in (0.1, rate):
        mine, left = updated(number, each, counts=False)
        theirs, after = updated(number, each, counts=True)
        assert mine == pytest.approx(theirs, rel=1e-6)
        assert (left, after) == (0, number + 1), "the chief counts"
    assert updated(number, rate, counts=False)[0] != updated(number + 1, rate, counts=False)[0]
