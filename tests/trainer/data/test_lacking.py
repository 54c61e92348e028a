"""Samples that hold values which are no finite numbers: told, and trained on as by `fit`."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import zoo_runs
from training_runs import small_plan

from gpu_studio.contract.consent import allow_file
from gpu_studio.placement.known_problems import known_problems
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan import Data, ModelSettings, Plan
from gpu_studio.trainer.answers.data import as_bytes, facts_of
from gpu_studio.trainer.data import load_data
from gpu_studio.trainer.data.lacking import UNLESS, lacking, refuse_unmasked
from gpu_studio.trainer.errors import DataError

ROWS = np.ones((6, 7), np.float32)


def holding(array: np.ndarray, *places: tuple[int, ...], value: float = np.nan) -> np.ndarray:
    """A copy with this value at these places."""
    found = array.copy()
    for place in places:
        found[place] = value
    return found


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (holding(ROWS, (4, 2)), "x holds a value that is no finite number, in sample 4; column 2"),
        (
            holding(ROWS, (5, 0), (3, 6), (3, 0), value=-np.inf),
            (
                "x holds 3 values that are no finite numbers, in 2 samples, first in sample 3; "
                "columns 0 and 6, counted from 0."
            ),
        ),
        (
            holding(ROWS.astype(np.float64), (0, ...), value=1e39),
            (
                "x holds 7 values that are no finite numbers, first in sample 0; columns 0, 1, 2, "
                "3 and 3 more, counted from 0."
            ),
        ),
        (
            holding(np.ones((3, 2, 2)), (1, 0, 0), (1, 1, 0)),
            "x holds 2 values that are no finite numbers, first in sample 1.",
        ),
        (holding(np.ones(3), (2,)), "x holds a value that is no finite number, in sample 2."),
    ],
)
def test_that_what_samples_lack_is_said_by_array_number_sample_and_column(array, said):
    found = lacking((), "x", array)
    assert found is not None
    assert found.words.startswith(said)
    with pytest.raises(DataError, match=r"data\.npz: x holds .* mlp makes a loss of it"):
        refuse_unmasked("mlp", "data.npz", [found])
    refuse_unmasked(None, "data.npz", [found])


@pytest.mark.parametrize("array", [ROWS, np.ones(3, np.int8), np.array([b"nan"])])
def test_that_nothing_is_said_of_finite_numbers_and_of_texts(array):
    assert lacking((), "x", array) is None


def test_that_data_tell_the_first_sample_that_lacks_some_once_and_the_range_of_all_others(
    tmp_path: Path,
) -> None:
    x = np.linspace(-2, 3, 240, dtype=np.float32).reshape(20, 4, 3, 1)
    np.savez(tmp_path / "some.npz", x=holding(x, (4, 1, 2, 0), (9, 0, 0, 0)), y=np.arange(20) % 2)
    found = load_data(Data(file="some.npz", test_fraction=0.2), 0, tmp_path)
    said = "x holds 2 values that are no finite numbers, in 2 samples, first in sample 4."
    assert facts_of(found).lacking == (said,)
    assert [note for note in found.notes if "finite" in note] == [f"{said} {UNLESS}"]
    assert np.isfinite(found.train.range()).all()


def test_that_what_only_samples_to_validate_with_lack_is_a_problem_of_the_plan(
    tmp_path: Path,
) -> None:
    y = np.arange(6) % 2
    np.savez(tmp_path / "own.npz", x_train=ROWS, y_train=y, x_val=holding(ROWS, (4, 2)), y_val=y)
    facts = facts_of(load_data(Data(file="own.npz", test_fraction=0.0), 0, tmp_path))
    (problem,) = known_problems(Plan(model=ModelSettings("mlp")), PlanFacts(facts, None))
    said = (
        "in own.npz, x_val holds a value that is no finite number, in sample 4; column 2, counted"
    )
    assert said in str(problem)


def test_that_a_pixel_that_is_no_number_is_shown_as_none() -> None:
    images = holding(np.ones((2, 2, 2, 1), np.float32), (1, 0, 1, 0))
    with warnings.catch_warnings(action="error"):
        assert as_bytes(images)[1, :, :, 0].tolist() == [[255, 0], [255, 255]]


OWN = """
import keras
import numpy as np


def load(seed, filled=False):
    random = np.random.default_rng(seed)
    x = random.normal(size=(90, 4)).astype("float32")
    y = x[:, :1] + x[:, 1:2] ** 2
    x[random.random(x.shape) < 0.2] = 0.0 if filled else np.nan
    return x, y


def build(replaces=True):
    inputs = keras.Input((4,))
    x = keras.layers.Lambda(keras.ops.nan_to_num)(inputs) if replaces else inputs
    model = keras.Model(inputs, keras.layers.Dense(1)(x))
    model.compile("sgd", "mse")
    return model
"""


@pytest.mark.slow
def test_that_a_model_which_replaces_them_trains_and_the_loss_of_another_says_why_it_is_none(
    tmp_path: Path,
) -> None:
    own = tmp_path / "own.py"
    own.write_text(OWN)
    allow_file(own, own.read_bytes())
    common = (
        "data.name=",
        "model.name=",
        "model.options={}",
        f"data.python={own}:load",
        f"model.python={own}:build",
        "training.optimizer=compiled",
        "training.loss=compiled",
        'training.metrics=["auto"]',
    )
    plans = {
        "replaced": small_plan(*common),
        "filled": small_plan(*common, "data.options={ filled = true }"),
        "left": small_plan(*common, "model.options={ replaces = false }"),
        "built in": small_plan(*common[:1], common[3], "model.name=mlp"),
    }
    runs = zoo_runs.trained_plans(plans, tmp_path)
    assert not runs["replaced"].refused + runs["replaced"].crashed
    assert runs["replaced"].epochs == runs["filled"].epochs
    (warned,) = runs["replaced"].warned
    assert warned.startswith("x holds 7")
    assert "Unless a layer replaces or masks them" in warned
    assert not runs["filled"].warned
    assert runs["left"].refused.startswith("The loss is nan at step 0, in epoch 1. x holds 7")
    assert runs["built in"].refused.startswith("own.py:load: x holds 7")
