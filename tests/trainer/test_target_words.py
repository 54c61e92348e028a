"""What a run says of its targets before it trains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gpu_studio.plan import Data, ModelSettings, Plan, Training
from gpu_studio.trainer.data import Dataset, Split
from gpu_studio.trainer.data.values import target_of

pytestmark = pytest.mark.slow

IDS = np.array([0, 200] * 6, np.int32)


def said(
    ids: Sequence[int], outputs: int, loss: str = "auto", name: str | None = None
) -> list[tuple[str, str]]:
    """What is said of prices before the model is built, and then; `name` is a built-in model."""
    import keras

    from gpu_studio.plan import Named
    from gpu_studio.trainer.keras_objects import learners_of
    from gpu_studio.trainer.target_words import warnings_before, warnings_of

    train = Split(np.zeros((len(ids), 2), np.float32), np.asarray(ids))
    dataset = Dataset("homes.csv", train, None, None, target_of([train]))
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(outputs)])
    plan = Plan(
        model=ModelSettings(name=name),
        data=Data(table="homes.csv", options={"targets": ["price"]}),
        training=Training(loss=Named(loss)),
    )
    learners = learners_of(plan.training, dataset, model)
    told = [*warnings_before(plan, dataset), *warnings_of(plan, dataset, learners)]
    assert len(list(warnings_before(plan, dataset))) == (0 if name is None else len(told))
    return [(each.message, each.suggestion) for each in told]


@pytest.mark.parametrize("name", [None, "mlp"])
def test_that_values_taken_for_class_ids_are_told_once_with_the_way_out(name):
    [(message, advice)] = said(IDS, 201, name=name)
    assert message.startswith("The whole numbers of price in homes.csv are taken for 201 class")
    assert advice == "To learn values name price in data.options.values."


@pytest.mark.parametrize(
    ("ids", "outputs", "loss"),
    [(IDS, 1, "mse"), (np.float32(IDS), 1, "auto"), (np.arange(201), 201, "auto")],
)
def test_that_nothing_is_told_where_values_or_classes_are_learnt(ids, outputs, loss):
    assert said(ids, outputs, loss) == []


def test_that_no_alarm_is_raised_where_an_ending_is_not_tried_or_the_last_layer_rescales():
    import keras
    from keras import layers

    from gpu_studio.plan import Named
    from gpu_studio.trainer.keras_objects import learners_of, make_objective
    from gpu_studio.trainer.target_words import oddities_of

    def odd(y, last, loss: str) -> list[str]:
        train = Split(np.zeros((len(y), 2), np.float32), y)
        dataset = Dataset("homes.csv", train, None, None, target_of([train]))
        sample = keras.Input((2,))
        model = keras.Model(sample, last(sample))
        training = Training(loss=Named(loss, {} if loss == "mse" else {"from_logits": False}))
        learners = learners_of(training, dataset, model)
        heads = make_objective(learners).heads
        return [each.name for each in oddities_of(dataset, learners, heads)]

    def mean(x):
        heads = [layers.Dense(1, activation="sigmoid")(x) for _ in range(2)]
        return layers.Average()(heads)

    def rescaled(x):
        return layers.Rescaling(100_000)(layers.Dense(1)(x))

    shares, prices = np.linspace(0, 1, 12, dtype=np.float32), np.float32([100_000.5, 500_000])
    assert odd(shares[:, None], mean, "binary_crossentropy") == []
    assert odd(prices[:, None], rescaled, "mse") == []
    assert odd(prices[:, None], layers.Dense(1), "mse") == ["targets far from 0"]
