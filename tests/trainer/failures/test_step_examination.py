"""A closer look at a step whose loss is not finite, with made weights, samples and loss."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from training_runs import small_plan

from gpu_studio.plan import Plan
from gpu_studio.trainer.data import load_data
from gpu_studio.trainer.errors import NotFiniteError
from gpu_studio.trainer.failures import FailureContext, explain
from gpu_studio.trainer.failures.failure_context import StepExamination
from gpu_studio.trainer.progress import TrainingProgress

if TYPE_CHECKING:
    from gpu_studio.trainer.failures.step_examination import CopyOfModel

pytestmark = pytest.mark.slow

PLAN: Plan = small_plan("model.options={ hidden = [4] }", "training.optimizer=adam")
SAMPLES, BATCH = 100, 32


@pytest.fixture(scope="module")
def session() -> Any:
    """As much of a session as the copy asks for.

    Two replicas' cut of the digits, and the usual loss.
    """
    import keras

    from gpu_studio.trainer.batches import Cut

    dataset = load_data(PLAN.data, PLAN.training.seed, Path.cwd())
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
    names = [f"model/{index}/x" for index in range(4)] + [
        f"optimizer/{index}" for index in range(9)
    ]
    return SimpleNamespace(
        plan=PLAN,
        dataset=dataset,
        cut=Cut(SAMPLES, BATCH, 2),
        program=SimpleNamespace(loss=loss),
        variables=dict.fromkeys(names),
    )


@pytest.fixture
def copy(session: Any) -> CopyOfModel:
    from gpu_studio.trainer.failures.step_examination import CopyOfModel

    return CopyOfModel(session, Path.cwd())


@pytest.fixture
def batch(session: Any) -> tuple[np.ndarray, np.ndarray]:
    return session.dataset.train.x[:BATCH], session.dataset.train.y[:BATCH]


def with_weight(copy: CopyOfModel, place: int, value: float) -> None:
    """Fill one of the weights: kernel and bias of `dense`, kernel and bias of `outputs`."""
    arrays = copy.fresh()
    name = list(arrays)[place]
    copy.take(arrays | {name: np.full_like(arrays[name], value)})


def test_that_a_copy_begins_with_the_run_s_first_weights(copy: CopyOfModel, session: Any) -> None:
    again = type(copy)(session, Path.cwd()).fresh()
    for name, value in copy.fresh().items():
        np.testing.assert_array_equal(value, again[name])


def test_that_sound_weights_and_samples_show_nothing(copy: CopyOfModel, batch: Any) -> None:
    assert copy.look(*batch) == StepExamination("none")


@pytest.mark.parametrize(
    ("place", "value", "look"),
    [
        (0, np.nan, StepExamination("weights", "dense")),
        (3, np.inf, StepExamination("weights", "outputs")),
        (1, 3e38, StepExamination("output", "outputs")),
        (0, 3e38, StepExamination("output", "dense")),
    ],
)
def test_that_the_first_layer_that_gave_way_is_named(
    copy: CopyOfModel, batch: Any, place: int, value: float, look: StepExamination
) -> None:
    with_weight(copy, place, value)
    assert copy.look(*batch) == look


def test_that_samples_that_are_no_numbers_are_told_before_all_else(
    copy: CopyOfModel, batch: Any
) -> None:
    x, y = batch
    assert copy.look(
        np.where(np.arange(BATCH)[:, None, None, None] == 5, np.nan, x), y
    ) == StepExamination("data")


def test_that_a_loss_that_overflows_by_itself_is_told(
    copy: CopyOfModel, batch: Any, session: Any
) -> None:
    import keras

    session.program.loss, usual = (
        keras.losses.MeanSquaredError(reduction=None),
        session.program.loss,
    )
    try:
        with_weight(copy, 3, 1e30)
        x, _ = batch
        assert copy.look(x, np.zeros((BATCH, 10), np.float32)) == StepExamination("loss")
    finally:
        session.program.loss = usual


def test_that_the_norms_are_those_of_the_whole_batch_s_gradient(
    copy: CopyOfModel, batch: Any, session: Any
) -> None:
    import tensorflow as tf

    x, y = batch
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(session.program.loss(y, copy.model(x)))
    gradients = tape.gradient(loss, [variable.value for variable in copy.model.trainable_variables])
    expected = [float(tf.linalg.global_norm(pair)) for pair in (gradients[:2], gradients[2:])]
    assert list(copy.gradient_norms(x, y)) == ["dense", "outputs"]
    assert list(copy.gradient_norms(x, y).values()) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("start", "step", "epoch", "samples"),
    [
        (TrainingProgress(0, 0, 0, 0), 0, 0, 0),
        (TrainingProgress(0, 0, 0, 0), 3, 0, 96),
        (TrainingProgress(0, 0, 0, 0), 4, 1, 0),
        (TrainingProgress(2, 9, 1, 32), 10, 2, 64),
        (TrainingProgress(2, 9, 1, 32), 12, 3, 0),
        (TrainingProgress(2, 9, 1, 32), 17, 4, 32),
    ],
)
def test_that_a_step_s_samples_are_found_in_its_epoch(
    session: Any, start: TrainingProgress, step: int, epoch: int, samples: int
) -> None:
    from gpu_studio.trainer.failures.step_examination import _moved, _samples

    moved = _moved(session, start, step)
    assert (moved.epoch, moved.samples, moved.step) == (epoch, samples, step)
    x, y, _ = _samples(session, start, step)
    assert len(x) == len(y) == min(BATCH, SAMPLES - samples)


@pytest.mark.parametrize(
    ("optimizer", "advice", "mends"),
    [
        ("auto", "Compile the model with a learning rate smaller than 0.5.", []),
        (
            "sgd",
            "Make training.learning_rate smaller than 0.001.",
            ["training.learning_rate", "training.options.global_clipnorm"],
        ),
    ],
)
def test_that_a_diverged_run_is_told_of_the_learning_rate_that_counts(
    optimizer: str, advice: str, mends: list[str]
) -> None:
    import keras

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.5), "mse")
    plan = small_plan(f"training.optimizer={optimizer}")
    context = FailureContext(plan=plan)
    context.session = SimpleNamespace(plan=plan, model=model, rate=0.5)  # type: ignore[assignment]
    failed = explain(NotFiniteError(math.inf, 3, 1, plan.training.learning_rate), context)
    assert failed.suggestions[0] == advice
    assert [mend.field for mend in failed.mends] == mends
