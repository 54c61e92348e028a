"""Models with steps of their own train as `fit` trains them, to 1e-5.

Under `none` that is `fit` itself: with two losses and random draws, two optimizers and a gradient's
gradient, a loss and metrics in Keras' own step, and a loss over pairs. In two replicas, parts of a
batch are as uneven as they can be: of its last sample, one replica has nothing. There means, sums
that Keras takes, means over what a mask leaves, clipped gradients, metrics, regularizers and what a
step assigns must be those of one device; a loss over pairs is not, which is said.

GPU_STUDIO_WHOLE_PARITY=1 tests `central_storage` too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from own_step_jobs import results
from parity_jobs import CLOSE, WHOLE

pytestmark = pytest.mark.slow

ALONE = {
    **{name: {"model": name} for name in ("gan", "distilled", "pairs", "stepwise")},
    "pairs on a card": {"model": "pairs", "card": True},
    "spelled on a card": {"model": "spelled", "card": True},
    "vae, resumed within its second epoch": {"model": "vae", "left_after": 6},
}
if WHOLE:
    ALONE["apart"] = {"model": "apart"}
REFUSED = {"model": "pairs", "settings": ["training.early_stopping={ monitor = 'val_near_loss' }"]}
SHARED = {
    name: {"model": name}
    for name in ("gan", "stepwise", *(["distilled", "apart"] if WHOLE else []))
}
WARNED = "Each of 2 replicas calls Gan.train_step with its part of a batch."


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What became of each case under `none`, and of each model by `fit`."""
    return results("none", {**ALONE, "refused": REFUSED}, tmp_path_factory.mktemp("alone"))


@pytest.fixture(
    scope="module",
    params=["mirrored", *(["central_storage"] if WHOLE else [])],
)
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What became of each case in two replicas."""
    return results(request.param, SHARED, tmp_path_factory.mktemp(request.param))


def equal(mine: dict[str, Any], fitted: dict[str, Any]) -> bool:
    """Whether the measures of the epochs and the weights are those of `fit`."""
    assert "error" not in mine, mine["error"]
    epochs = fitted["epochs"][-len(mine["epochs"]) :]
    return (
        [sorted(each) for each in mine["epochs"]] == [sorted(each) for each in epochs]
        and all(
            each == pytest.approx(wanted, abs=CLOSE, rel=CLOSE)
            for each, wanted in zip(mine["epochs"], epochs, strict=True)
        )
        and all(
            np.allclose(weight, wanted, atol=CLOSE, rtol=0)
            for weight, wanted in zip(mine["weights"], fitted["weights"], strict=True)
        )
    )


@pytest.mark.parametrize("case", ALONE)
def test_that_a_step_of_one_s_own_trains_as_fit_trains_it(alone: dict[str, Any], case: str) -> None:
    assert equal(alone[case], alone["fit"][ALONE[case]["model"]])


def test_that_a_step_of_one_s_own_goes_on_without_xla_where_that_cannot_compile_it(
    alone: dict[str, Any],
) -> None:
    assert alone["pairs"]["xla"] == [False]
    assert alone["pairs on a card"]["xla"] == [True]
    spelled = alone["spelled on a card"]
    assert spelled["xla"] == [True, False]
    (said,) = spelled["told"]
    assert said.startswith("XLA could not compile the training step, which goes on without it:")


@pytest.mark.parametrize("case", SHARED)
def test_that_replicas_train_a_step_of_one_s_own_as_one_device_does(
    alone: dict[str, Any], shared: dict[str, Any], case: str
) -> None:
    assert equal(shared[case], alone["fit"][case])


def test_that_what_a_step_means_for_replicas_and_for_evaluation_is_told(
    alone: dict[str, Any], shared: dict[str, Any]
) -> None:
    unmeasured = (
        "Gan has its own train_step but no test_step, and Keras' own cannot evaluate it (Model Gan "
        "does not have a `call()` method implemented): nothing is validated or tested."
    )
    assert alone["gan"]["told"] == [unmeasured]
    assert alone["distilled"]["told"] == []
    assert unmeasured in shared["gan"]["told"]
    several = [each for each in shared["gan"]["told"] if each != unmeasured]
    assert [each.startswith(WARNED) for each in several] == [True]


def test_that_early_stopping_by_what_no_step_returns_is_refused(alone: dict[str, Any]) -> None:
    assert alone["refused"]["error"] == (
        "training.early_stopping.monitor is val_near_loss, which nothing measures: the model "
        "measures contrast_loss, right."
    )


def test_that_the_shown_loss_of_a_step_is_the_first_that_it_calls_a_loss(
    alone: dict[str, Any],
) -> None:
    assert alone["gan"]["epochs"][0]["samples"] == 49
    assert "loss" not in alone["gan"]["epochs"][0]
    assert alone["gan"]["steps"][3] == pytest.approx(alone["gan"]["epochs"][0]["judge_loss"])
