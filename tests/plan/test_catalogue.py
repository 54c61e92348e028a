"""What a plan can name: the tables agree with themselves, and with Keras."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gpu_studio.plan import Training
from gpu_studio.plan.catalogue import ACTIVATIONS, DATA, MODELS, SCHEDULES
from gpu_studio.plan.data import IMAGES
from gpu_studio.plan.keras_objects import (
    AUTO_METRICS,
    LOSSES,
    METRICS,
    OPTIMIZER_CHOICES,
    OPTIMIZERS,
    keras_name,
    result_name,
)
from gpu_studio.plan.options import (
    CHECKPOINT_LIMITS,
    DATA_LIMITS,
    EARLY_STOPPING_LIMITS,
    PLACED_LIMITS,
    TRAINING_LIMITS,
    BuiltIn,
    Option,
)

ENTRIES = [*MODELS.values(), *DATA.values(), IMAGES, *SCHEDULES.values()]
OPTIONS = [
    *(option for entry in ENTRIES for option in entry.options),
    *CHECKPOINT_LIMITS,
    *DATA_LIMITS,
    *EARLY_STOPPING_LIMITS,
    *PLACED_LIMITS,
    *TRAINING_LIMITS,
]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_that_every_default_is_one_that_is_allowed(option):
    assert option.problem(option.name, option.default) is None


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_that_everything_says_what_it_is(entry):
    assert entry.help
    assert all(option.help for option in entry.options)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_that_an_entry_s_own_values_are_allowed(entry):
    assert entry.problems("options", entry.values({})) == []


def test_that_given_values_take_the_place_of_defaults():
    assert MODELS["mlp"].values({"hidden": [8]}) == {
        "hidden": [8],
        "activation": "relu",
        "dropout": 0.0,
    }


def test_that_the_default_names_are_among_those_there_are():
    training = Training()

    assert training.optimizer in OPTIMIZER_CHOICES
    assert training.loss.name in LOSSES
    assert {metric.name for metric in training.metrics} <= set(METRICS)
    assert set(AUTO_METRICS.values()) <= set(METRICS)


@pytest.mark.parametrize(
    ("option", "value", "advice"),
    [
        (Option("x", "int", 0, "", least=1), 0, "give a whole number of 1 or more"),
        (Option("x", "int", 0, "", most=5), 6, "give a whole number at most 5"),
        (Option("x", "float", 0, "", above=0, below=1), 1, "give a number above 0 and below 1"),
        (Option("x", "float", 0, "", least=0.5, most=1), 2, "give a number from 0.5 to 1"),
        (Option("x", "bool", False, ""), 1, "write true or false"),
        (Option("x", "choice", "a", "", choices=("a", "b")), 3, "choose one of a or b"),
        (Option("x", "ints", [], "", longest=1), [1, 2], "give a list of 0 to 1 whole numbers"),
    ],
)
def test_that_advice_says_what_is_allowed(option, value, advice):
    problem = option.problem("x", value)

    assert problem is not None
    assert problem.advice == advice


def test_that_nan_is_in_no_range():
    assert Option("x", "float", 0.0, "").problem("x", float("nan")) is not None


def test_that_an_entry_without_options_has_none():
    assert (
        BuiltIn("plain", "help").problems("options", {"x": 1})[0].advice
        == "leave it out, plain has no options"
    )


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("mean_squared_error", "mean_squared_error"),
        ("MeanSquaredError", "mean_squared_error"),
        ("mse", "mean_squared_error"),
        ("MSE", "mean_squared_error"),
        ("logcosh", None),
        ("", None),
    ],
)
def test_that_keras_spellings_mean_the_same(name, meant):
    assert keras_name(name, METRICS) == meant


def test_that_every_metric_has_the_result_that_keras_names():
    assert result_name("acc") == "accuracy"
    assert result_name("LogCoshError") == "logcosh"
    assert result_name("something of one's own") == "something of one's own"


@pytest.mark.slow
def test_that_keras_knows_every_name():
    import keras

    assert missing_in(OPTIMIZERS, dir(keras.optimizers)) == []
    assert missing_in(LOSSES[2:], dir(keras.losses)) == []
    assert missing_in(METRICS[2:], dir(keras.metrics)) == []
    assert missing_in(ACTIVATIONS, dir(keras.activations)) == []


def missing_in(names: Iterable[str], there: Iterable[str]) -> list[str]:
    return [name for name in names if not keras_name(name, there)]
