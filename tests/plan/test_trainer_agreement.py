"""The rules and the trainer agree.

What the rules accept by name, the trainer builds; its results have the names that can be monitored.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_studio.plan import Data, ModelSettings, Named, Training
from gpu_studio.plan.keras_objects import (
    AUTO_METRICS,
    BETWEEN_VALUES,
    LOSSES_OF,
    METRICS_OF,
    OPTIMIZERS,
    result_name,
)

pytestmark = pytest.mark.slow

BUILT_IN = {"classes": ("mlp", "digits"), "values": ("linear", "regression")}
NEEDED = {
    "precision_at_recall": {"recall": 0.5},
    "recall_at_precision": {"precision": 0.5},
    "sensitivity_at_specificity": {"specificity": 0.5},
    "specificity_at_sensitivity": {"sensitivity": 0.5},
    "iou": {"target_class_ids": [0, 2]},
    "one_hot_iou": {"target_class_ids": [1]},
}


@pytest.fixture(scope="module", params=BUILT_IN)
def task(request):
    """A task with data and a model of that task."""
    from gpu_studio.trainer.data import load_data
    from gpu_studio.trainer.models import build_model

    model, data = BUILT_IN[request.param]
    dataset = load_data(Data(name=data), 0, Path())
    return request.param, dataset, build_model(ModelSettings(name=model), dataset, Path(), 0)


def test_that_the_trainer_makes_every_loss_of_a_task(task):
    from gpu_studio.trainer.keras_objects import OutputForm, make_loss

    name, dataset, model = task

    for loss in ("auto", *LOSSES_OF[name]):
        assert make_loss(Training(loss=Named(loss)), dataset, OutputForm.of(dataset, model))


def test_that_the_trainer_makes_every_metric_of_a_task_by_the_name_that_can_be_monitored(task):
    from gpu_studio.trainer.keras_objects import OutputForm, make_metrics

    name, dataset, model = task
    # Of one value a sample there is nothing to compare.
    names = [metric for metric in METRICS_OF[name] if metric not in BETWEEN_VALUES]
    named = tuple(Named(metric, NEEDED.get(metric, {})) for metric in names)

    made = make_metrics(Training(metrics=named), dataset, OutputForm.of(dataset, model))

    assert [metric.name for metric in made] == [result_name(metric) for metric in names]


def test_that_the_trainer_s_automatic_metric_is_the_one_that_can_be_monitored(task):
    from gpu_studio.trainer.keras_objects import OutputForm, make_metrics

    name, dataset, model = task

    assert [
        metric.name for metric in make_metrics(Training(), dataset, OutputForm.of(dataset, model))
    ] == [AUTO_METRICS[name]]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_that_the_trainer_makes_every_optimizer(name):
    from gpu_studio.trainer.keras_objects import make_optimizer

    assert make_optimizer(Training(optimizer=name, options={"global_clipnorm": 1.0}), 10, 100)
