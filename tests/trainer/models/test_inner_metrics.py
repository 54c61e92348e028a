"""Which metrics a model and its layers keep themselves, and by which names they are told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow


def measured(metric: Any, tensor: Any) -> Any:
    """The tensor, through a layer that keeps the metric of it."""
    import keras

    class Measured(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.metric = metric

        def call(self, x: Any) -> Any:
            self.metric.update_state(x)
            return x

    return Measured()(tensor)


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


@pytest.mark.parametrize("counts", ["float32", "int32"])
def test_that_the_states_of_a_metric_of_a_layer_count_alike_in_parts(counts: str) -> None:
    import keras

    from gpu_studio.trainer.inner_metrics import InnerMetrics
    from gpu_studio.trainer.layer_state import BatchPart, Caught, RandomStates

    class Norms(keras.metrics.Metric):
        def __init__(self) -> None:
            super().__init__(name="norms")
            self.total = self.add_variable((), "zeros", name="total")
            self.batches = self.add_variable((), "zeros", counts, name="batches")

        def update_state(self, values: Any, sample_weight: Any = None) -> None:
            self.total.assign_add(keras.ops.norm(values))
            self.batches.assign_add(1)

        def result(self) -> Any:
            return self.total / keras.ops.cast(self.batches, "float32")

    inputs = keras.Input((3,))
    model = keras.Model(inputs, measured(Norms(), inputs))
    x = np.random.default_rng(3).normal(size=(8, 3)).astype(np.float32)
    inner = InnerMetrics(model, running=False)
    inner.look_at(model, SimpleNamespace(train=Samples(x)))
    assert inner.apart == ["norms"]
    random, sums = RandomStates(model.variables, 0), inner.nothing_counted()
    for number, some in enumerate((slice(2), slice(2, None))):
        with Caught(random, number) as caught:
            model(x[some])
        part = BatchPart(number, len(x[some]) / len(x))
        for state, more in zip(sums[0], inner.taken(caught, part)[0], strict=True):
            state += np.asarray(more)
    wanted = (2 * np.linalg.norm(x[:2]) + 6 * np.linalg.norm(x[2:])) / 8
    assert inner.results(sums) == pytest.approx({"norms": wanted}, rel=1e-5)


@pytest.mark.parametrize("kind", ["Dropout", "BatchNormalization"])
def test_that_a_sum_of_what_changes_with_the_batch_is_no_mean_of_parts(kind: str) -> None:
    """The probe does not show it to be a sum; it holds a state that is no number, too."""
    import keras

    from gpu_studio.trainer.inner_metrics import InnerMetrics
    from gpu_studio.trainer.layer_state import BatchPart, Caught, RandomStates

    class Drawn(keras.metrics.Metric):
        def __init__(self) -> None:
            super().__init__(name="drawn")
            self.total = self.add_variable((), "zeros", name="total")
            self.samples = self.add_variable((), "zeros", name="samples")
            self.batches = self.add_variable((), "zeros", "int32", name="batches")
            self.done = self.add_variable((), "zeros", "bool", name="done")

        def update_state(self, values: Any, sample_weight: Any = None) -> None:
            self.total.assign_add(keras.ops.sum(keras.ops.abs(values)))
            self.samples.assign_add(keras.ops.cast(keras.ops.shape(values)[0], "float32"))
            self.batches.assign_add(1)

        def result(self) -> Any:
            return self.total / self.samples

    more = {"rate": 0.5, "seed": 1} if kind == "Dropout" else {}
    inputs = keras.Input((3,))
    changed = getattr(keras.layers, kind)(**more)(inputs)
    model = keras.Model(inputs, measured(Drawn(), changed))
    x = np.random.default_rng(3).normal(size=(8, 3)).astype(np.float32)
    inner = InnerMetrics(model, running=False)
    inner.look_at(model, SimpleNamespace(train=Samples(x)))
    [drawn] = inner.metrics
    assert inner._by_share == {id(drawn.batches)}
    assert (inner.apart, inner.undecided) == (["drawn"], {"drawn"})
    with Caught(RandomStates(model.variables, 0), 0) as caught:
        model(x, training=True)
    added = [np.asarray(each) for each in inner.taken(caught, BatchPart(0, 1.0))[0]]
    assert (added[1:], added[0] > 0) == ([8, 1, 0], True)


class Samples(list[Any]):
    """Samples of which a batch is seen as it is."""

    def seen(self, rows: Any) -> np.ndarray:
        return np.stack([self[row] for row in rows])


def test_that_a_metric_of_a_layer_goes_on_from_a_checkpoint_to_the_last_bit() -> None:
    """Its sum is told step by step, and what was rounded in each is not in the sum of them."""
    import keras

    from gpu_studio.trainer.inner_metrics import InnerMetrics
    from gpu_studio.trainer.meters import Meters, Tally

    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    model.norm = keras.metrics.Mean(name="norm")
    state = np.float32(0.1) + np.float32(1e-7)

    def counted(*, running: bool = True) -> Tally:
        return Tally(Meters((), InnerMetrics(model, running=running)))

    before = counted()
    before.add(2.0, 4, [[np.float32(0.1), np.float32(1)]])
    model.norm.total.assign(state)
    kept = before.arrays()
    after = counted()
    assert model.norm.total == 0
    assert after.restore(kept)
    assert np.asarray(model.norm.total) == state
    assert after.results() == before.results()
    # Of several parts of a batch there is but the sum, and one that was saved by them goes on too.
    in_parts = counted(running=False)
    assert in_parts.restore(kept)
    assert counted().restore(in_parts.arrays())
    assert np.asarray(model.norm.total) == np.float32(0.1)
