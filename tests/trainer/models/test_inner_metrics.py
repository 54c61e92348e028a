"""Which metrics a model and its layers keep themselves, and by which names they are told."""

from __future__ import annotations

from typing import Any

import numpy as np


def tracked() -> Any:
    """A model that is no graph, which keeps a metric and one whose result is two numbers."""
    import keras

    class Both(keras.metrics.Metric):
        def __init__(self) -> None:
            super().__init__(name="both")
            self.count = self.add_variable((), "zeros", "int32", name="count")

        def update_state(self, values: Any, sample_weight: Any = None) -> None:
            self.count.assign_add(keras.ops.shape(values)[0])

        def result(self) -> Any:
            return {"seen": 1 * self.count, "twice": 2 * self.count}

    class Tracked(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.last = keras.layers.Dense(1)
            self.norm, self.both = keras.metrics.Mean(name="norm"), Both()

        def call(self, x: Any) -> Any:
            self.norm.update_state(keras.ops.norm(x, axis=-1))
            self.both.update_state(x)
            return self.last(x)

    return Tracked()


def test_that_metrics_of_a_model_that_is_no_graph_are_those_of_fit() -> None:
    from gpu_studio.trainer.inner_metrics import InnerMetrics
    from gpu_studio.trainer.model_ends import as_graph

    made = tracked()
    x, y = np.ones((6, 3), np.float32), np.zeros((6, 1), np.float32)
    inner = InnerMetrics(as_graph(made, x, (3,)))
    assert inner.names == ["norm", "seen", "twice"]
    # Building has called it, and that does not count.
    assert inner.results(inner.nothing_counted()) == {"norm": 0, "seen": 0, "twice": 0}
    made.compile("sgd", "mse", run_eagerly=True)
    assert set(made.fit(x, y, verbose=0).history) == {"loss", *inner.names}


def test_that_a_metric_that_would_stand_for_the_loss_is_told() -> None:
    import keras

    from gpu_studio.trainer.inner_metrics import InnerMetrics

    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    assert InnerMetrics(model).caution == ""
    model.loss_tracker = keras.metrics.Mean(name="loss")
    assert InnerMetrics(model).caution.startswith("The model keeps a metric loss of its own")
