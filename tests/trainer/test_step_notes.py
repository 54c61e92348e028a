"""What a run tells of how layers and steps went on in a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow


def test_that_state_which_is_read_again_in_its_step_is_told_of_parts_of_a_batch() -> None:
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.layer_state import Caught, RandomStates, notes_on

    class Centred(keras.layers.Layer):
        def __init__(self, *, again: bool) -> None:
            super().__init__(name="centred")
            self.again = again

        def build(self, shape: tuple[int | None, ...]) -> None:
            self.mean = self.add_weight(shape=(shape[-1],), trainable=False, name="mean")

        def call(self, x: Any, training: bool = False) -> Any:
            before = x - self.mean
            self.mean.assign(keras.ops.mean(x, axis=0))
            return x - self.mean if self.again else before

    def told(*, again: bool, parts: int) -> list[str]:
        inputs = keras.Input((3,))
        x = keras.layers.BatchNormalization()(Centred(again=again)(inputs))
        model = keras.Model(inputs, x)
        with Caught(RandomStates(model.variables, 1), tf.constant(0, tf.int64)) as caught:
            model(np.ones((4, 3), np.float32), training=True)
        return [each.message for each in notes_on(model, caught, parts, training=True)]

    assert told(again=False, parts=2) == told(again=True, parts=1) == []
    (said,) = told(again=True, parts=2)
    assert said.startswith("Layers read centred/mean again after they have assigned it")


def test_that_a_log_that_fit_hides_behind_a_metric_is_told() -> None:
    import keras

    from gpu_studio.trainer.own_logs import named_as_metrics

    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
    tracker = model.metrics[0]
    (said,) = named_as_metrics(model, {"loss": None})
    assert "returns loss, and the model has a metric of that name" in said.message
    assert not list(named_as_metrics(model, {"loss": tracker}))
    assert not list(named_as_metrics(model, {"loss": None, "kl": None}))
