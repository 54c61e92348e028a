"""What a plan asks for that only its data and its model can refuse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_studio.plan import CheckpointSettings, EarlyStopping, Training
from gpu_studio.plan.rules.start_rules import never_ends, unmeasured

STOPS = "training.early_stopping.monitor"
KEEPS = "training.checkpoint.monitor"
LESS = ("mse", "mape", "msle", "bce", "kld", "binary_crossentropy", "kl_divergence", "hinge")
LESS += ("logcosh", "poisson", "squared_hinge", "decoded_mae")


@pytest.mark.parametrize(
    ("monitor", "measures", "validated", "found"),
    [
        ("val_loss", ("loss",), True, []),
        ("val_loss", (), False, [(STOPS, True), (KEEPS, True)]),
        ("val_right", ("loss",), False, [(STOPS, True), (KEEPS, True)]),
        ("right", ("loss", "accuracy"), True, [(STOPS, False), (KEEPS, False)]),
        ("right", (), True, []),
    ],
)
def test_that_a_monitor_is_measured_on_a_split_that_is_there(
    monitor, measures, validated, found
) -> None:
    training = Training(early_stopping=EarlyStopping(monitor=monitor))
    training = replace(training, checkpoint=CheckpointSettings(monitor=monitor))
    kept = [each for each in found if each[0] == STOPS or monitor != CheckpointSettings().monitor]
    said = [
        (each.field, each.split) for each in unmeasured(training, measures, validated=validated)
    ]
    assert said == kept
    assert list(unmeasured(Training(), measures, validated=validated)) == []


def test_that_a_model_without_a_loss_is_judged_by_the_first_that_it_measures() -> None:
    assert CheckpointSettings().instead(("forger_loss", "accuracy")) == "val_forger_loss"
    assert CheckpointSettings().instead(("forger_loss", "loss")) is None
    assert CheckpointSettings().instead(()) is None
    assert CheckpointSettings(monitor="forger").instead(("forger_loss", "forger")) is None


@pytest.mark.parametrize(
    ("measures", "instead"),
    [
        (("psnr", "l2_error"), "val_l2_error"),
        (("reward", "accuracy"), "val_accuracy"),
        (("d_loss", "g_loss"), "val_g_loss"),
        (("Critic_loss", "loss_D"), None),
        (("disc_accuracy", "real_loss", "ssim"), None),
        (("discloss", "Critic2_loss", "mae"), "val_mae"),
        (("psnr", "rmse_2", "loss_x"), "val_rmse_2"),
        (("D_Loss", "G_Loss"), "val_G_Loss"),
        (("Accuracy",), "val_Accuracy"),
        (("smart", "accent", "categorical_hinge"), "val_categorical_hinge"),
        *(((name,), f"val_{name}") for name in LESS),
    ],
)
def test_that_nothing_judges_of_which_it_is_not_known_which_way_is_better(
    measures, instead
) -> None:
    assert CheckpointSettings().instead(measures) == instead


def test_that_only_data_without_end_need_a_number_of_batches() -> None:
    assert never_ends(endless=True, steps=0)
    assert not never_ends(endless=True, steps=4)
    assert not never_ends(endless=False, steps=0)
