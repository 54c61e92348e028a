"""Layers of the user's own that mix the samples of a batch are told of; all others are not."""

from __future__ import annotations

from contextlib import nullcontext
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import made_data
import pytest

pytestmark = pytest.mark.slow


def own_layers() -> dict[str, Any]:
    """Layers of the user's own, by their names."""
    import keras
    from keras import ops

    class Centred(keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.middle = self.add_weight(shape[-1:], initializer="zeros", trainable=False)

        def call(self, x: Any, training: bool = False) -> Any:
            if training:
                self.middle.assign(0.9 * self.middle + 0.1 * ops.mean(x, axis=0))
            return x - self.middle

    class Counting(keras.layers.Layer):
        def build(self, _shape: Any) -> None:
            self.seen = self.add_weight((), initializer="zeros", trainable=False)

        def call(self, x: Any) -> Any:
            self.seen.assign_add(1.0)
            return 2 * x

    class Noisy(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x + keras.random.normal(ops.shape(x))

    class Normal(keras.layers.Layer):
        def __init__(self, **named: Any) -> None:
            super().__init__(**named)
            self.inner = keras.layers.BatchNormalization()

        def call(self, x: Any, training: bool = False) -> Any:
            return self.inner(x, training=training)

    return {
        "centred": Centred(name="centred"),
        "counting": Counting(name="counting"),
        "noisy": Noisy(name="noisy"),
        "normal": Normal(name="normal"),
    }


def test_that_only_layers_which_mix_samples_and_draw_nothing_are_named() -> None:
    import keras
    import numpy as np

    from gpu_studio.trainer.batches import Cut
    from gpu_studio.trainer.seen_apart import layers_apart, mixing_apart, replicas_apart

    data = made_data.values((8,))
    ends = [keras.layers.Dropout(0.5), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((8,)), *own_layers().values(), *ends])
    before = [np.asarray(each) for each in model.variables]
    assert layers_apart(model, data).mixing == ["centred"]
    for old, variable in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(old, np.asarray(variable))
    told = [each.message for each in replicas_apart(model, data, Cut(12, 6, 2))]
    drawn, _normalised, mixed = told  # of the batch normalisation within a layer, too
    assert "draws at random, each of 2 replicas draws for its own part of a batch" in drawn
    assert mixed.startswith("The layer centred mixes the samples of a batch")
    assert "about 3" in mixed
    drawn, _mixed = (each.message for each in mixing_apart(model, data, Cut(12, 6, 2), placed=True))
    assert "each of 2 micro-batches draws for its own part of a batch: other numbers than" in drawn


@pytest.mark.parametrize(
    ("kind", "near"), [("mixed_float16", "ten-thousandth"), ("mixed_bfloat16", "a thousandth")]
)
def test_that_it_is_said_how_near_losses_come_where_parts_are_rounded_apart(
    kind: str, near: str
) -> None:
    import keras

    from gpu_studio.trainer.batches import Cut
    from gpu_studio.trainer.seen_apart import replicas_apart

    data = made_data.values((8,))
    hidden = keras.layers.Dense(4, dtype=kind)
    model = keras.Sequential([keras.Input((8,)), hidden, keras.layers.Dense(1)])
    (told,) = replicas_apart(model, data, Cut(12, 6, 2))
    assert near in told.message
    assert not list(replicas_apart(keras.Sequential([model.layers[1]]), data, Cut(12, 6, 2)))


def test_that_no_batch_normalisation_is_synchronized_over_workers_of_servers() -> None:
    import keras

    from gpu_studio.trainer.batches import Cut
    from gpu_studio.trainer.seen_apart import replicas_apart

    data, cut = made_data.values((8,)), Cut(12, 6, 2)
    whole = keras.layers.BatchNormalization(synchronized=True)
    model = keras.Sequential([keras.Input((8,)), whole, keras.layers.Dense(1)])
    assert not list(replicas_apart(model, data, cut))
    (told,) = replicas_apart(model, data, cut, served=True)
    assert told.message.startswith(
        "Its batch normalisation normalises each worker's part of about 3 samples by itself"
    )
    assert told.suggestion.startswith("Workers of servers do not meet within a step")
    centred = keras.Sequential([keras.Input((8,)), own_layers()["centred"]])
    (mixed,) = replicas_apart(centred, data, cut, served=True)
    assert mixed.suggestion == "Train on one device for the loss as it is."


def test_that_only_what_draws_is_said_to_draw_other_numbers_in_each_part() -> None:
    import keras

    from gpu_studio.trainer.batches import Cut
    from gpu_studio.trainer.seen_apart import mixing_apart, replicas_apart

    def told(*layers: Any, kind: Any = keras.Sequential) -> bool:
        model, cut = kind([keras.Input((4, 2)), *layers]), Cut(12, 6, 2)
        data = made_data.values((4, 2))
        every = *replicas_apart(model, data, cut), *mixing_apart(model, data, cut, placed=True)
        said = [each.message for each in every if "draws at random" in each.message]
        assert len(said) in (0, 2)
        return bool(said)

    class Stepping(keras.Sequential):
        def train_step(self, data: Any) -> Any:
            return super().train_step(data)

    def noise(x: Any) -> Any:
        return x + keras.random.normal(keras.ops.shape(x))

    assert not told(keras.layers.LSTM(3), keras.layers.Dropout(0.0))
    assert told(keras.layers.LSTM(3, recurrent_dropout=0.1))
    assert told(own_layers()["noisy"])  # which has no seed, and so keeps no random state
    assert told(keras.layers.Lambda(noise))
    assert told(keras.layers.Dropout(0.5), kind=Stepping)


def test_that_a_layer_which_draws_past_keras_is_not_said_to_mix_samples() -> None:
    import keras
    import numpy as np
    import tensorflow as tf

    from gpu_studio.trainer.seen_apart import layers_apart

    class Dropping(keras.layers.Layer):
        def call(self, x: Any, training: bool = False) -> Any:
            return tf.nn.dropout(x, 0.5) if training else x

    class Scaled(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x * np.float32(1 + np.random.rand())

    class Shifted(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x - tf.reduce_mean(x, axis=0)

    layers = [Dropping(), Scaled(), Shifted(name="shifted")]
    model = keras.Sequential([keras.Input((8,)), *layers, keras.layers.Dense(1)])
    assert layers_apart(model, made_data.values((8,))).mixing == ["shifted"]


def test_that_what_layers_write_down_at_each_call_is_as_it_was() -> None:
    import keras

    from gpu_studio.trainer.seen_apart import layers_apart

    class Writing(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[Any] = []
            self.told: dict[str, Any] = {}
            self.shapes: set[Any] = set()
            self.state = {"calls": 0}
            self.last = [0, 0]

        def call(self, x: Any) -> Any:
            self.seen.append(x.shape)
            self.told[f"call {len(self.told)}"] = len(self.seen)
            self.shapes.add(x.shape)
            self.state["calls"] += 1
            self.last[0] = len(self.seen)
            return 2 * x

    layer = Writing()
    model = keras.Sequential([keras.Input((8,)), layer, keras.layers.Dense(1)])
    before = deepcopy([layer.seen, layer.told, layer.shapes, layer.state, layer.last])
    assert layer.state["calls"]
    assert layers_apart(model, made_data.values((8,))).mixing == []
    assert [layer.seen, layer.told, layer.shapes, layer.state, layer.last] == before


def test_that_a_call_is_traced_to_see_draws_and_what_layers_set_in_it_is_as_it_was() -> None:
    import keras

    from gpu_studio.trainer.seen_apart import draws, layers_apart

    given: list[Any] = []

    class Remembering(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            given.append(x)
            self.calls = getattr(self, "calls", 0) + 1
            if len(given) > 1:
                self.another = x
            return 2 * x

    layer = Remembering()
    model = keras.Sequential([keras.Input((8,)), layer, keras.layers.Dropout(0.5)])
    assert (layer.calls, len(given)) == (1, 1)
    assert draws(model, made_data.values((8,)))
    assert len(given) == 2
    assert not hasattr(given[1], "numpy")  # nothing was computed
    assert layers_apart(model, made_data.values((8,))).mixing == []
    assert len(given) > 2
    assert layer.calls == 1
    assert not hasattr(layer, "another")


def test_that_a_layer_whose_first_axis_holds_no_samples_does_not_mix_them() -> None:
    import keras
    from keras import ops

    from gpu_studio.trainer.seen_apart import layers_apart

    class Steady(keras.layers.Layer):
        """Takes (steps, samples, numbers), as recurrent layers of other libraries do."""

        def call(self, x: Any) -> Any:
            return x - ops.mean(x, axis=0)

    for steps in (2, 4, 8):
        inputs = keras.Input((steps * 2,))
        x = ops.transpose(keras.layers.Reshape((steps, 2))(inputs), (1, 0, 2))
        x = keras.layers.Flatten()(ops.transpose(Steady()(x), (1, 0, 2)))
        model = keras.Model(inputs, keras.layers.Dense(1)(x))
        assert layers_apart(model, made_data.values((steps * 2,))).mixing == []


def test_that_a_layer_that_cannot_be_called_so_is_left_to_the_first_step() -> None:
    import keras

    from gpu_studio.trainer.seen_apart import layers_apart

    class Picky(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            if x.shape[0] is not None:
                raise ValueError("not like this")
            return x

    model = keras.Sequential([keras.Input((8,)), Picky(), keras.layers.Dense(1)])
    assert layers_apart(model, made_data.values((8,))).mixing == []


def test_that_what_a_model_s_own_call_mixes_or_adds_is_told_of_replicas_and_micro_batches() -> None:
    import keras
    from keras import ops

    from gpu_studio.trainer.batches import Cut
    from gpu_studio.trainer.seen_apart import layers_apart, mixing_apart

    class Net(keras.Model):
        def __init__(self, name: str) -> None:
            super().__init__(name=name)
            self.hidden, self.end = keras.layers.Dense(4), keras.layers.Dense(1)

        def call(self, x: Any) -> Any:
            x = self.hidden(x)
            if self.name == "summing":
                self.add_loss(ops.sum(ops.square(x)))
            elif self.name == "meaning":
                self.add_loss(ops.mean(ops.square(x)))
            elif self.name == "counting":  # which two halves do not show
                x = ops.where(ops.shape(x)[0] < 3, 2 * x, x)
            else:
                x = x - ops.mean(x, axis=0)
            return self.end(x)

    data, cut = made_data.values((8,)), Cut(12, 6, 2)
    for name, mixing, adding in [
        ("centring", ["centring"], []),
        ("counting", ["counting"], []),
        ("summing", [], ["summing"]),
        ("meaning", [], []),
    ]:
        inner = Net(name)
        outer = keras.Sequential([keras.Input((8,)), inner])
        for model in (inner, outer):
            found = layers_apart(model, data)
            assert (found.mixing, found.adding) == (mixing, adding)
    model = Net("centring")
    model(data.train.seen(slice(2)))
    (told,) = mixing_apart(model, data, cut)
    assert told.message.startswith("The model centring mixes the samples of a batch, and on each")
    (told,) = mixing_apart(model, data, cut, placed=True)
    assert "in each micro-batch those of its own part of about 3" in told.message
    assert "micro_batches to 1" in told.suggestion
    assert not list(mixing_apart(model, data, Cut(12, 6, 1), placed=True))


@pytest.mark.parametrize("trainable", [True, False])
def test_that_only_a_batch_normalisation_that_trains_is_warned_of_in_micro_batches(
    trainable: bool,
) -> None:
    import keras

    from gpu_studio.trainer.batches import Cut
    from gpu_studio.trainer.placed.program import notes

    layer = keras.layers.BatchNormalization(trainable=trainable)
    plan = SimpleNamespace(recompute=False)
    placed: Any = SimpleNamespace(seats=[SimpleNamespace(layer=layer)], plan=plan)
    assert len(list(notes(placed, Cut(12, 6, 2), None))) == trainable


def test_that_a_loss_of_a_layer_that_is_no_mean_over_samples_is_told() -> None:
    import keras
    from keras import ops

    from gpu_studio.trainer.batches import Cut
    from gpu_studio.trainer.seen_apart import layers_apart, replicas_apart

    class Adding(keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.scale = self.add_weight(shape[-1:], initializer="ones")

        def call(self, x: Any) -> Any:
            shares = ops.softmax(x * self.scale)
            first, both = ops.mean(ops.square(shares), axis=0), ops.mean(shares, axis=0)
            terms = {
                "balanced": lambda: 0.01 * ops.sum(first * both),
                "summed": lambda: ops.sum(ops.square(x)),
                "mean": lambda: ops.mean(ops.square(x)),
                "weights": lambda: 1e-3 * ops.sum(ops.square(self.scale)),
                "samples": lambda: ops.sum(ops.square(x), axis=-1),
                "drawn": lambda: ops.mean(x * keras.random.normal(ops.shape(x))),
            }
            self.add_loss(terms[self.name]())
            return 2 * x

    names = ("balanced", "summed", "mean", "weights", "samples", "drawn")
    usual = keras.layers.Dense(4, activity_regularizer="l2", kernel_regularizer="l2")
    model = keras.Sequential([keras.Input((8,)), *(Adding(name=name) for name in names), usual])
    data = made_data.values((8,))
    found = layers_apart(model, data)
    assert (found.mixing, found.adding) == ([], ["balanced", "summed"])
    drawn, told = replicas_apart(model, data, Cut(12, 6, 2))
    assert told.message.startswith("balanced and summed add to the loss what is no mean")
    others = keras.Sequential(model.layers[2:], name=model.name)
    assert list(replicas_apart(others, data, Cut(12, 6, 2))) == [drawn]


def test_that_an_own_regularizer_of_what_a_layer_gives_is_told_where_it_is_no_sum() -> None:
    import keras
    from keras import ops

    from gpu_studio.trainer.seen_apart import layers_apart

    class Apart(keras.regularizers.Regularizer):
        def __call__(self, x: Any) -> Any:
            return ops.sum(ops.square(ops.matmul(x, ops.transpose(x))))

    class Small(keras.regularizers.Regularizer):
        def __call__(self, x: Any) -> Any:
            return ops.sum(ops.square(x))

    dense, inputs = keras.layers.Dense, keras.Input((8,))
    few = dense(3, activity_regularizer=Small(), name="few")(inputs)
    made = dense(3, activity_regularizer=Apart(), name="apart")(few)
    found = layers_apart(keras.Model(inputs, made), made_data.values((8,)))
    assert (found.mixing, found.adding) == ([], ["apart"])


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        ((12, 6, 2), "which 2 replicas cannot share"),
        ((12, 4, 1), "and batches have 4"),
        ((14, 6, 1), "and the last batch of training samples has 2"),
        ((12, 6, 1), ""),
    ],
)
def test_that_a_layer_that_keeps_states_has_whole_batches(
    cut: tuple[int, int, int], said: str
) -> None:
    import keras

    from gpu_studio.plan import Plan
    from gpu_studio.trainer.batches import Cut
    from gpu_studio.trainer.errors import PlanRefused
    from gpu_studio.trainer.layer_state import beginning_anew, kept_states
    from gpu_studio.trainer.seen_apart import refuse_unkept_states

    memory = keras.layers.LSTM(2, stateful=True, name="memory")
    model = keras.Sequential([keras.Input((3, 1), batch_size=6), memory])
    data = made_data.values((3, 1), samples=cut[0])
    with nullcontext() if not said else pytest.raises(PlanRefused, match=said):
        refuse_unkept_states(Plan(), model, data, Cut(*cut), served=False)
    assert kept_states(model) == ("memory", 6)
    with beginning_anew(model):
        assert kept_states(model) is None
    assert memory.stateful
