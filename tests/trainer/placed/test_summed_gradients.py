"""What several calls of a layer give back for its weights is added up where these are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("looked_up", [False, True])
def test_that_gradients_of_a_shared_layer_are_added_up_on_its_device(*, looked_up: bool) -> None:
    """A sum of rows lay on another card than the table, which held that and a copy of each term."""
    import tensorflow as tf

    from gpu_studio.trainer.placed.program import gradients_of

    with tf.device("CPU:0"):
        weights = tf.Variable(tf.ones((5, 3)))
    found: list[Any] = []

    def loss_of(row: int) -> Any:
        if looked_up:
            return tf.reduce_sum(tf.gather(weights, [row]))
        return tf.reduce_sum(tf.matmul(tf.ones((2, 5)), weights) * row)

    @tf.function(autograph=False)  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def step() -> None:
        loss = loss_of(1) + loss_of(2)
        found.extend(gradients_of(loss, [SimpleNamespace(value=weights)]))

    step.get_concrete_function()
    [gradient] = found
    total = gradient.values if looked_up else gradient
    assert total.op.type == ("ConcatV2" if looked_up else "AddN")
    assert total.device == weights.device
