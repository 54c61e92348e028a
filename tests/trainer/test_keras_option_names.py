"""The options that the window suggests, against the signatures of Keras' constructors."""

from __future__ import annotations

import pytest

from gpu_studio.plan.keras_objects import (
    LOSSES,
    METRICS,
    OPTIMIZERS,
    loss_options,
    metric_options,
    optimizer_options,
)

pytestmark = pytest.mark.slow


def taken(module: str, name: str, *fixed: str) -> set[str]:
    import keras

    from gpu_studio.trainer.keras_objects.named import keras_class, parameters

    return set(parameters(keras_class(getattr(keras, module), name))) - {"name", "dtype", *fixed}


def test_that_every_option_of_every_optimizer_is_suggested() -> None:
    for name in OPTIMIZERS:
        assert set(optimizer_options(name)) == taken("optimizers", name, "learning_rate"), name


def test_that_every_option_of_every_loss_is_suggested() -> None:
    for name in LOSSES[2:]:
        assert set(loss_options(name)) == taken("losses", name, "reduction"), name


def test_that_every_option_of_every_metric_is_suggested() -> None:
    from gpu_studio.trainer.keras_objects.compiled import CLASSES, METRIC_WANTS

    for name in METRICS[2:]:
        fixed = (
            ("from_logits",) if name in METRIC_WANTS and METRIC_WANTS[name].probabilities else ()
        )
        if name.endswith("iou"):
            fixed = ("sparse_y_true", "sparse_y_pred", "axis")
        assert set(metric_options(name)) == taken("metrics", CLASSES.get(name, name), *fixed), name
