"""Targets of any shape and type train what Keras' `fit` trains on them, under every strategy.

Losses and metrics of epochs, of validation and test, and weights, to 1e-5. The reference is `fit`
with the arrays as they were given, a loss and metrics of Keras' own. What the plan says is `auto`
wherever a case names nothing. GPU_STUDIO_WHOLE_PARITY=1 tests all under all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from parity_jobs import CLOSE, TESTED, WAYS, WHOLE, Case, Trained

pytestmark = pytest.mark.slow


def case(model: str, targets: str, wanted: Any, /, *metrics: Any, **settings: Any) -> Case:
    """A model and its targets, with Keras' loss and metrics that the plan asks for."""
    asked = [f"training.{key}={value}" for key, value in settings.items()]
    asked = asked if "metrics" in settings else [*asked, 'training.metrics=["auto"]']
    return {
        "model": model,
        "targets": targets,
        "loss": wanted,
        "metrics": list(metrics),
        "settings": [*TESTED, *asked],
    }


def of(cls: str, /, **config: Any) -> dict[str, Any]:
    """A class of Keras'."""
    return {"class_name": cls, "config": config}


YES = of("BinaryAccuracy", name="accuracy")
SURE = of("BinaryAccuracy", name="accuracy", threshold=0.0)  # of logits
EACH = of("BinaryAccuracy", name="binary_accuracy")
ERROR = of("MeanAbsoluteError", name="mean_absolute_error")
RIGHT = of("SparseCategoricalAccuracy", name="accuracy")
BEST = of("CategoricalAccuracy", name="accuracy")
BINARY, SQUARED = of("BinaryCrossentropy"), of("MeanSquaredError")
SPARSE, SCORED = (of("SparseCategoricalCrossentropy", from_logits=on) for on in (False, True))
COUNTED = (
    of("AUC", name="auc"),
    of("Precision", name="precision"),
    of("Recall", name="recall"),
)
COUNTING = '["accuracy", "auc", "precision", "recall"]'

CASES: dict[str, Case] = {
    "one sigmoid, bools": case("yes", "bools", BINARY, YES, *COUNTED, metrics=COUNTING),
    "one logit, bytes": case("logit", "bytes", of("BinaryCrossentropy", from_logits=True), SURE),
    "one sigmoid, floats": case("yes", "floats", BINARY, YES),
    "a sigmoid inside": case("yes_inside", "bytes", BINARY, YES),
    "one-hot": case("shares", "one_hot", of("CategoricalCrossentropy"), BEST),
    "one-hot, scores": case(
        "scores", "one_hot_bytes", of("CategoricalCrossentropy", from_logits=True), BEST
    ),
    "ids as floats": case("scores", "ids_as_floats", SCORED, RIGHT),
    "labels": case(
        "labels", "labels", BINARY, EACH, *COUNTED, metrics=COUNTING.replace("accuracy", "auto")
    ),
    "labels as floats": case(
        "labels", "labels_as_floats", BINARY, BEST, metrics='["accuracy"]'
    ),
    "a vector": case("vector", "vector", SQUARED, ERROR),
    "balances": case("logit", "balances", of("MeanAbsoluteError"), ERROR, loss="mae"),
    "steps": case("steps", "steps", SCORED, RIGHT),
    "places": case("places", "places", SPARSE, RIGHT),
    "places apart": case("places", "places_apart", SPARSE, RIGHT),
    "places, one-hot": case("places", "places_one_hot", of("CategoricalCrossentropy"), BEST),
    "spots": case("spots", "spots", BINARY, YES),
    "spots apart": case("spots", "spots_apart", BINARY, YES),
    "a picture": case("picture", "picture", SQUARED, ERROR),
    "an autoencoder": case(
        "picture_in_0_1", "picture_in_0_1", BINARY, ERROR,
        loss="binary_crossentropy", metrics='["mae"]',
    ),
    "masked steps": case("masked", "four_steps", SCORED, RIGHT),
    "a class ignored": case(
        "steps", "steps", of("SparseCategoricalCrossentropy", from_logits=True, ignore_class=2),
        loss='{ name = "sparse_categorical_crossentropy", ignore_class = 2 }', metrics="[]",
    ),
}  # fmt: skip
IN_ONE_PART = ("masked steps",)
CHOSEN = {
    "none": ("one logit, bytes", "places apart", "an autoencoder"),
    "one_device": (),
    "mirrored": ("masked steps",),
    "central_storage": ("a class ignored",),
    "placed": ("labels",),
}


def cases_of(way: str) -> dict[str, Case]:
    """What is trained one way."""
    names = CASES if WHOLE or way not in CHOSEN else CHOSEN[way]
    parts = {"micro_batches": 1} if way == "placed" else {}
    return {name: CASES[name] | (parts if name in IN_ONE_PART else {}) for name in names}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return Trained(tmp_path_factory.mktemp("targets"), cases_of)


@pytest.mark.parametrize(("way", "name"), [(way, name) for way in WAYS for name in cases_of(way)])
def test_that_targets_of_any_shape_train_what_fit_trains(
    trained: Trained, way: str, name: str
) -> None:
    mine, reference = trained[way][name], trained["fit"][name]
    assert "error" not in reference, reference["error"]
    assert "error" not in mine, mine["error"]
    assert len(mine["epochs"]) == len(reference["epochs"])
    for told, wanted in zip(mine["epochs"], reference["epochs"], strict=True):
        assert told == pytest.approx(wanted, rel=CLOSE, abs=CLOSE)
    assert mine["test"] == pytest.approx(reference["test"], rel=CLOSE, abs=CLOSE)
    for value, wanted in zip(mine["weights"], reference["weights"], strict=True):
        np.testing.assert_allclose(value, wanted, rtol=CLOSE, atol=CLOSE)
