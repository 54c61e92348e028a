"""Losses: a number a sample, computed from what the data and the model give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import made_data
import numpy as np
import pytest

from gpu_studio.plan.values import Named, Training
from gpu_studio.trainer.errors import PlanRefused

pytestmark = pytest.mark.slow

CLASSES, VALUES = made_data.classes((8,), 3), made_data.values((1,))
LOGITS = np.random.default_rng(1).normal(size=(12, 3)).astype(np.float32)
IDS = CLASSES.train.y
ONE_HOT = np.eye(3)[IDS]
PROBABILITIES = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
CROSS_ENTROPY = -np.log(PROBABILITIES[np.arange(12), IDS])
SIGMOID = 1 / (1 + np.exp(-LOGITS))
SIGNS = 2 * ONE_HOT - 1


def a_model(dataset, last=None):
    import keras

    return keras.Sequential(
        [keras.Input(dataset.sample_shape), keras.layers.Dense(dataset.outputs, activation=last)]
    )


def loss_of(name, dataset=CLASSES, last=None, **options):
    from gpu_studio.trainer.keras_objects import OutputForm, make_loss

    return make_loss(
        Training(loss=Named(name, options)), dataset, OutputForm.of(dataset, a_model(dataset, last))
    )


EXPECTED = {
    "auto": CROSS_ENTROPY,
    "sparse_categorical_crossentropy": CROSS_ENTROPY,
    "SparseCategoricalCrossentropy": CROSS_ENTROPY,
    "categorical_crossentropy": CROSS_ENTROPY,
    "kl_divergence": CROSS_ENTROPY,
    "CategoricalGeneralizedCrossEntropy": (1 - np.exp(-CROSS_ENTROPY) ** 0.5) / 0.5,
    "BinaryCrossentropy": -(ONE_HOT * np.log(SIGMOID) + (1 - ONE_HOT) * np.log(1 - SIGMOID)).mean(
        axis=1
    ),
    "hinge": np.maximum(1 - SIGNS * LOGITS, 0).mean(axis=1),
    "squared_hinge": (np.maximum(1 - SIGNS * LOGITS, 0) ** 2).mean(axis=1),
    # Keras' own formula: the best of the other classes counts as 0 at least.
    "categorical_hinge": np.maximum(
        ((1 - ONE_HOT) * LOGITS).max(axis=1) - (ONE_HOT * LOGITS).sum(axis=1) + 1, 0
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_that_a_loss_of_classes_is_that_of_its_formula(name):
    losses = np.asarray(loss_of(name)(IDS, LOGITS))
    assert (losses.shape, losses.dtype) == ((12,), np.float32)
    np.testing.assert_allclose(losses, EXPECTED[name], rtol=1e-4, atol=1e-5)


def error(predicted):
    return np.abs(predicted - VALUES.train.y)[:, 0]


PREDICTED = np.linspace(-1, 3, 12, dtype=np.float32)[:, None]
OF_VALUES = {
    "auto": error(PREDICTED) ** 2,
    "mse": error(PREDICTED) ** 2,
    "MeanAbsoluteError": error(PREDICTED),
    "huber": np.where(error(PREDICTED) <= 1, error(PREDICTED) ** 2 / 2, error(PREDICTED) - 0.5),
    "log_cosh": np.log(np.cosh(error(PREDICTED))),
    "mape": 100 * error(PREDICTED) / np.abs(VALUES.train.y[:, 0]),
}


@pytest.mark.parametrize("name", OF_VALUES)
def test_that_a_loss_of_values_is_that_of_its_formula(name):
    losses = np.asarray(loss_of(name, VALUES)(VALUES.train.y, PREDICTED))
    assert losses.shape == (12,)
    np.testing.assert_allclose(losses, OF_VALUES[name], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["auto", "categorical_crossentropy", "kl_divergence"])
def test_that_a_model_that_ends_in_a_softmax_is_not_given_another(name):
    losses = np.asarray(loss_of(name, last="softmax")(IDS, PROBABILITIES))
    np.testing.assert_allclose(losses, CROSS_ENTROPY, rtol=1e-4)


def test_that_a_softmax_layer_counts_as_a_softmax():
    import keras

    from gpu_studio.trainer.keras_objects.forms import ends_in_logits

    layers = keras.layers
    inputs = keras.Input((8,))
    scores = layers.Dense(3)(inputs)
    endings = {
        layers.Softmax: False,
        lambda: layers.Activation("softmax"): False,
        lambda: layers.ReLU(): True,
    }
    for ending, logits in endings.items():
        assert ends_in_logits(keras.Model(inputs, ending()(scores)), CLASSES) is logits


SHARES = {
    "the mean of two softmax heads": lambda layers, x: layers.Average()(
        [layers.Dense(3, "softmax")(x), layers.Dense(3, "softmax")(x)]
    ),
    "a softmax in another shape": lambda layers, x: layers.Reshape((3,))(
        layers.Softmax()(layers.Reshape((1, 3))(layers.Dense(3)(x)))
    ),
    "a softmax at each step": lambda layers, x: layers.Flatten()(
        layers.TimeDistributed(layers.Dense(3, "softmax"))(layers.Reshape((1, 8))(x))
    ),
    "a softmax mixed by a layer that keeps shares": lambda layers, x: layers.Dense(
        3, use_bias=False, kernel_initializer="identity"
    )(layers.Dense(3, "softmax")(x)),
}
SCORES = {
    "the mean of two heads": lambda layers, x: layers.Average()(
        [layers.Dense(3)(x), layers.Dense(3)(x)]
    ),
    "scores in another shape": lambda layers, x: layers.Reshape((3,))(layers.Dense(3)(x)),
    "scores that are not negative": lambda layers, x: layers.Dense(3, "relu")(x),
}


@pytest.mark.parametrize("ending", [*SHARES, *SCORES])
def test_that_the_numbers_of_a_model_tell_shares_from_scores_here_and_in_a_script(ending):
    import keras
    import tensorflow as tf

    from gpu_studio.export.model import _ENDS
    from gpu_studio.trainer.keras_objects.forms import ends_in_logits

    inputs = keras.Input((8,))
    make = SHARES.get(ending) or SCORES[ending]
    model = keras.Model(inputs, make(keras.layers, inputs))
    script: dict[str, Any] = {"keras": keras, "np": np, "tf": tf}
    exec(_ENDS.replace("$dtype", "float32"), script)
    assert ends_in_logits(model, CLASSES) is script["ends_in_logits"](model) is (ending in SCORES)


def test_that_a_look_at_the_numbers_changes_nothing_and_takes_the_batch_that_a_model_is_built_for():
    import keras

    from gpu_studio.trainer.keras_objects.forms import ends_in_logits

    @keras.saving.register_keras_serializable("tests")
    class Noisy(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.seeds = keras.random.SeedGenerator(1)

        def call(self, x: Any) -> Any:
            return x + keras.random.normal((32, 3), seed=self.seeds)

    inputs = keras.Input(batch_shape=(32, 8))
    model = keras.Model(inputs, Noisy()(keras.layers.Dense(3)(inputs)))
    before = [np.asarray(each) for each in model.variables]
    assert ends_in_logits(model, CLASSES)
    for each, earlier in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(each, earlier)


def test_that_options_reach_keras():
    smoothed = np.asarray(loss_of("categorical_crossentropy", label_smoothing=0.3)(IDS, LOGITS))
    labels = ONE_HOT * 0.7 + 0.1
    np.testing.assert_allclose(smoothed, -(labels * np.log(PROBABILITIES)).sum(axis=1), rtol=1e-4)


def test_that_half_precision_outputs_give_a_loss_in_float32():
    losses = loss_of("auto")(IDS, LOGITS.astype(np.float16))
    assert losses.dtype == "float32"


@pytest.mark.parametrize("name", ["mse", "MeanSquaredError", "mean_absolute_error", "huber"])
def test_that_a_loss_for_other_targets_is_refused_with_what_fits(name):
    with pytest.raises(
        PlanRefused, match="does not fit made classes: its targets are ids of 3 classes"
    ) as refused:
        loss_of(name)
    assert f'"{name}"' in refused.value.message
    assert "sparse_categorical_crossentropy" in refused.value.suggestions[1]


def test_that_a_loss_that_holds_samples_against_one_another_is_told_in_parts_of_a_batch():
    from keras import ops

    from gpu_studio.trainer.keras_objects import Objective
    from gpu_studio.trainer.keras_objects.as_compiled import unguarded
    from gpu_studio.trainer.keras_objects.compiled import given_loss
    from gpu_studio.trainer.keras_objects.objective import Head

    calls = []

    def near(y_true, y_pred):
        calls.append(len(y_true))
        same = ops.cast(ops.equal(y_true, ops.transpose(y_true)), "float32")
        return ops.mean(ops.square(same - ops.matmul(y_pred, ops.transpose(y_pred))), axis=-1)

    def alone(y_true, y_pred):
        return ops.mean(ops.square(y_true - y_pred), axis=-1)

    draw = np.random.default_rng(1)
    batches = [(draw.normal(size=(n, 1)), draw.normal(size=(n, 4))) for n in (3, 2)]
    pairs, single = (given_loss(each, "own", None, unguarded, batches) for each in (near, alone))
    shown = len(calls)
    assert not list(Objective((Head(pairs),)).cautions(1, placed=False))
    assert len(calls) == shown  # a loss may count them, and none is needed for whole batches
    assert not list(Objective((Head(single),)).cautions(2, placed=True))
    (told,) = Objective((Head(pairs),)).cautions(2, placed=False)
    assert told.startswith("The loss own of a sample depends on the others of its batch. Each of")
    with pytest.raises(PlanRefused, match="2 micro-batches would each have one of their own"):
        list(Objective((Head(pairs),)).cautions(2, placed=True))


def test_that_classes_of_steps_and_pixels_have_their_weights_and_rows_of_numbers_have_none():
    import tensorflow as tf

    from gpu_studio.plan.targets import Target
    from gpu_studio.trainer.keras_objects import Objective

    objective = Objective(class_weight={1: 3.0})
    steps = np.array([[0, 1, 2], [1, 1, 0]])
    for wanted in (np.eye(3)[steps], steps[..., None]):
        weights = objective.weighted(tf.constant(wanted), ())
        np.testing.assert_array_equal(weights, [[1, 3, 1], [3, 3, 1]])
    assert Target((3, 3), ids=2, one_hot=True).names_classes
    assert Target((8, 8, 1), measured=True, ids=2).names_classes
    assert not Target((3,), ids=3).names_classes
    assert not Target((8, 8, 1), measured=True).names_classes
    assert Target((), ids=3).names_classes
    ids = Target((1,), measured=True, ids=4)  # class ids as floats, or prices
    assert (ids.names_classes, ids.has_strata) == (True, False)
    assert not Target((), ids=None).names_classes  # whole numbers below 0, or too large


def test_that_weights_of_classes_beside_those_of_samples_are_refused():
    from gpu_studio.trainer.keras_objects import learners_of

    train = replace(CLASSES.train, weights=np.ones(12, np.float32))
    with pytest.raises(PlanRefused, match="has for its samples exclude each other"):
        learners_of(
            Training(class_weight={"0": 2.0}), replace(CLASSES, train=train), a_model(CLASSES)
        )


def test_that_cross_entropy_of_values_is_refused():
    with pytest.raises(PlanRefused, match="its targets are measured values, one a sample"):
        loss_of("categorical_crossentropy", VALUES)


@pytest.mark.parametrize(
    ("name", "options", "words", "advice"),
    [
        ("crossentropi", {}, r'training\.loss\.name is "crossentropi"', "crossentropy"),
        ("Circle", {}, r'training\.loss\.name is "Circle"', ""),
        (
            "auto",
            {"from_logit": True},
            r"options\.from_logit is not an option of sparse_categorical_crossentropy",
            "from_logits",
        ),
        (
            "auto",
            {"from_logits": 1},
            r"options\.from_logits is 1 \(a whole number\)",
            "true or false",
        ),
        ("auto", {"ignore_class": 0.5}, r"options\.ignore_class is 0\.5", "whole number"),
        ("auto", {"reduction": "sum"}, r"options\.reduction is not an option", ""),
        (
            "categorical_crossentropy",
            {"label_smoothing": 2.0},
            r"options\.label_smoothing is 2\.0",
            "below 1",
        ),
        (
            "CategoricalFocalCrossentropy",
            {"gamma": float("nan")},
            r"options\.gamma is nan",
            "number",
        ),
    ],
)
def test_that_a_wrong_name_or_option_is_refused_with_advice(name, options, words, advice):
    with pytest.raises(PlanRefused, match=words) as refused:
        loss_of(name, **options)
    assert advice in refused.value.suggestions[0]


def test_that_whole_numbers_that_are_no_classes_of_the_outputs_are_not_guessed_at():
    from gpu_studio.trainer.keras_objects import OutputForm

    one = made_data.values((8,))
    with pytest.raises(PlanRefused) as auto:
        OutputForm.of(CLASSES, a_model(one))
    assert "whole numbers up to 2, and the model's outputs of shape (1,)" in auto.value.message
    assert [words for words in auto.value.suggestions if "3 units" in words]
    assert [words for words in auto.value.suggestions if "mean_squared_error" in words]
    assert OutputForm.of(CLASSES, a_model(one), Named("mse", {})).kind == "values"
    with pytest.raises(PlanRefused, match=r"outputs of shape \(1,\) cannot learn the targets"):
        OutputForm.of(CLASSES, a_model(one), Named("sparse_categorical_crossentropy", {}))
