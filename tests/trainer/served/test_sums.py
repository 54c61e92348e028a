"""What several workers have brought updates the weights once, as the whole batch would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_that_rows_of_several_parts_update_a_table_as_those_of_one_batch(name: str) -> None:
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.served.program import plain_of, sum_of_parts

    rows, values = np.array([1, 4, 1, 0]), np.arange(12, dtype="float32").reshape(4, 3)
    table, whole = (keras.Variable(np.ones((6, 3), "float32")) for _ in range(2))
    one, other = (getattr(keras.optimizers, name)(0.1) for _ in range(2))
    one.build([table])
    other.build([whole])
    parts = [tf.IndexedSlices(values[:2], rows[:2]), tf.IndexedSlices(values[2:], rows[2:])]

    @tf.function(autograph=False)
    def update(parts: Any) -> None:
        one.apply([sum_of_parts(parts, table.shape)], [table])

    update([plain_of(each) for each in parts])
    other.apply([tf.IndexedSlices(values, rows, tf.constant([6, 3]))], [whole])
    assert np.asarray(table) == pytest.approx(np.asarray(whole), abs=1e-6)
    assert not np.allclose(np.asarray(table)[1], 1)


def test_that_an_optimizer_that_scales_losses_updates_outside_of_replicas() -> None:
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.replica_updates import applying, in_one_place

    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        weight, plain = (keras.Variable(np.ones(3, "float32")) for _ in range(2))
        scaling = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.1), initial_scale=8.0)
        alone = keras.optimizers.Adam(0.1)
        scaling.build([weight])
        alone.build([plain])
        gradients = np.float32([[8, 16, 24], [np.inf, 0, 0], [-8, 8, 40]])

        @tf.function(autograph=False)
        def update(gradient: Any) -> None:
            in_one_place(applying(scaling), [gradient], [weight])

        for each in gradients:
            update(tf.constant(each))
        in_one_place(applying(alone), [tf.constant(gradients[0] / 8)], [plain])
        in_one_place(applying(alone), [tf.constant(gradients[2] / 4)], [plain])
    assert np.asarray(weight) == pytest.approx(np.asarray(plain), abs=1e-6)
    assert float(scaling.dynamic_scale) == 4
