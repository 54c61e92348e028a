"""What a run says of its targets before it trains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gpu_studio.plan import Data, Plan, Training
from gpu_studio.trainer.data import Dataset, Split
from gpu_studio.trainer.data.values import target_of

IDS = np.array([0, 200] * 6, np.int32)


def said(ids: Sequence[int], outputs: int, loss: str = "auto") -> list[tuple[str, str]]:
    import keras

    from gpu_studio.plan import Named
    from gpu_studio.trainer.keras_objects import learners_of
    from gpu_studio.trainer.target_words import warnings_of

    train = Split(np.zeros((len(ids), 2), np.float32), np.asarray(ids))
    dataset = Dataset("homes.csv", train, None, None, target_of([train]))
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(outputs)])
    plan = Plan(
        data=Data(table="homes.csv", options={"targets": ["price"]}),
        training=Training(loss=Named(loss)),
    )
    learners = learners_of(plan.training, dataset, model)
    return [(each.message, each.suggestion) for each in warnings_of(plan, dataset, learners)]


def test_that_values_taken_for_class_ids_are_told_with_the_way_out():
    [(message, advice)] = said(IDS, 201)
    assert message.startswith("price in homes.csv holds whole numbers, which are taken for 201")
    assert advice == "To learn values name price in data.options.values."


@pytest.mark.parametrize(
    ("ids", "outputs", "loss"),
    [(IDS, 1, "mse"), (np.float32(IDS), 1, "auto"), (np.arange(201), 201, "auto")],
)
def test_that_nothing_is_told_where_values_or_classes_are_learnt(ids, outputs, loss):
    assert said(ids, outputs, loss) == []
