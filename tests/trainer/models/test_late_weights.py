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


def test_that_what_layers_count_begins_with_the_first_step() -> None:
    import keras
    from keras import layers

    from gpu_studio.trainer.model_ends import as_graph

    class Counting(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.unused = layers.Dense(3), layers.Dense(3)

        def build(self, _shape: Any) -> None:
            self.seen = self.add_weight((), initializer="zeros", trainable=False)

        def call(self, x: Any) -> Any:
            self.seen.assign_add(1.0)
            return self.inner(x)

    model = keras.Sequential([keras.Input((5,)), Counting(), layers.Dense(1)])
    as_graph(model, np.zeros((1, 5), np.float32), (5,))
    assert [float(each) for each in model.non_trainable_variables] == [0.0]
