from __future__ import annotations

import pytest
from hypothesis import given, settings
from plan_strategies import plans

from gpu_studio.plan import Data, EarlyStopping, ModelSettings, Named, Plan, Training, validate
from gpu_studio.plan.edits.training import (
    add_metric,
    remove_metric,
    set_loss,
    set_metric,
    set_optimizer,
    set_schedule,
    set_training,
    stop_early,
)

PLAN = Plan(
    model=ModelSettings("mlp"),
    data=Data("digits"),
    training=Training(
        optimizer="sgd",
        options={"momentum": 0.9},
        schedule=Named("step", {"drop": 0.1}),
        loss=Named("huber", {"d": 1}),
    ),
)


def test_that_a_new_optimizer_schedule_or_loss_leaves_the_options_of_the_old_one_behind() -> None:
    assert set_optimizer(PLAN, "adam").training.options == {}
    assert set_schedule(PLAN, "cosine").training.schedule == Named("cosine")
    assert set_schedule(PLAN, None).training.schedule is None
    assert set_loss(PLAN, "auto").training.loss == Named("auto")


def test_that_the_same_name_again_changes_nothing() -> None:
    assert (
        set_optimizer(PLAN, "sgd") == set_schedule(PLAN, "step") == set_loss(PLAN, "huber") == PLAN
    )
    assert stop_early(PLAN, on=False) == PLAN


@pytest.mark.parametrize(("data", "model"), [("digits", "mlp"), ("regression", "linear")])
def test_that_metrics_can_be_added_one_after_another_and_all_fit(data: str, model: str) -> None:
    plan = Plan(model=ModelSettings(model), data=Data(data), training=Training(metrics=()))
    for count in range(1, 6):
        plan = add_metric(plan)
        assert len(plan.training.metrics) == count
        assert validate(plan) == []


def test_that_a_metric_is_changed_and_removed_at_its_place() -> None:
    plan = set_training(
        PLAN, metrics=(Named("auto"), Named("auc", {"curve": "PR"}), Named("recall"))
    )
    assert set_metric(plan, 1, "precision").training.metrics[1] == Named("precision")
    assert set_metric(plan, 1, "auc") == set_metric(plan, 9, "auc") == plan
    assert [each.name for each in remove_metric(plan, 0).training.metrics] == ["auc", "recall"]


@settings(max_examples=25)
@given(plans())
def test_that_early_stopping_goes_on_and_off(plan: Plan) -> None:
    off = stop_early(plan, on=False)
    assert off.training.early_stopping is None
    assert stop_early(off, on=True).training.early_stopping == EarlyStopping()
