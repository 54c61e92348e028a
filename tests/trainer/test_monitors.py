from __future__ import annotations

import math

import pytest

from gpu_studio.plan import CheckpointSettings
from gpu_studio.trainer.progress import Judge, Monitor


@pytest.mark.parametrize(
    "name",
    ["loss", "val_loss", "mean_absolute_error", "val_mean_squared_error", "val_mse", "G_Loss"],
)
def test_that_less_is_better_of_losses_and_errors(name: str) -> None:
    assert Monitor(name).better(0.1, 0.2)
    assert not Monitor(name).better(0.2, 0.1)


@pytest.mark.parametrize(
    "name",
    ["accuracy", "val_accuracy", "val_auc", "r2_score", "val_f1_score", "Accuracy", "val_acc"],
)
def test_that_more_is_better_of_accuracies_and_scores(name: str) -> None:
    assert Monitor(name).better(0.2, 0.1)
    assert not Monitor(name).better(0.1, 0.2)


def test_that_an_improvement_must_be_large_enough() -> None:
    assert not Monitor("val_loss").better(0.95, 1.0, by=0.1)
    assert Monitor("val_loss").better(0.85, 1.0, by=0.1)


def test_that_the_first_value_is_the_best_so_far_and_no_number_is_none() -> None:
    assert Monitor("val_loss").better(9.0, None)
    assert Monitor("val_loss").value({"val_loss": math.nan}) is None


def test_that_without_validation_the_training_value_counts() -> None:
    assert Monitor("val_loss").value({"loss": 0.5}) == 0.5
    assert Monitor("val_loss").value({"loss": 0.5, "val_loss": 0.7}) == 0.7
    assert Monitor("val_auc").value({"loss": 0.5}) is None


def test_that_a_loss_that_a_callback_gives_judges_before_what_stands_in_for_it() -> None:
    judge = Judge(CheckpointSettings(), ("g_loss",))
    given = {"g_loss": 0.5, "val_loss": 0.2}
    assert judge.of(given) == Monitor("val_loss")
    assert judge.said(given) == ""
    # Per epoch: a callback need not give it in each.
    assert judge.of({"g_loss": 0.5}) == Monitor("val_g_loss")


@pytest.mark.parametrize(
    ("measures", "said"),
    [
        (("g_loss",), "judged by val_g_loss (less is better)"),
        (("accuracy",), "judged by val_accuracy (more is better)"),
        (("reward",), "no checkpoint is kept as the best"),
    ],
)
def test_that_it_is_said_once_what_stands_in_for_a_loss(measures, said) -> None:
    judge, metrics = Judge(CheckpointSettings(), measures), {measures[0]: 1.0}
    assert said in judge.said(metrics)
    assert judge.said(metrics) == ""
    assert Judge(CheckpointSettings(monitor="x"), measures).said(metrics) == ""
