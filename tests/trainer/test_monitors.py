from __future__ import annotations

import math

import pytest

from gpu_studio.trainer.progress import Monitor


@pytest.mark.parametrize(
    "name", ["loss", "val_loss", "mean_absolute_error", "val_mean_squared_error"]
)
def test_that_less_is_better_of_losses_and_errors(name: str) -> None:
    assert Monitor(name).better(0.1, 0.2)
    assert not Monitor(name).better(0.2, 0.1)


@pytest.mark.parametrize(
    "name", ["accuracy", "val_accuracy", "val_auc", "r2_score", "val_f1_score"]
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
