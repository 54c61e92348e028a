"""Weights that layers make when they are first called are there before an optimizer is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow


def test_that_a_cell_of_one_s_own_has_its_weights_before_the_first_step() -> None:
    import keras
    from keras import layers, ops

    from gpu_studio.trainer.model_ends import as_graph

    class Cell(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.state_size = 4
            self.new, self.old = layers.Dense(4), layers.Dense(4, use_bias=False)

        def call(self, x: Any, states: Any) -> Any:
            made = ops.tanh(self.new(x) + self.old(states[0]))
            return made, [made]

    model = keras.Sequential([keras.Input((5, 3)), layers.RNN(Cell()), layers.Dense(1)])
    assert len(model.trainable_variables) == 2
    made = as_graph(model, np.zeros((1, 5, 3), np.float32), (5, 3))
    assert made is model
    assert len(model.trainable_variables) == 5
