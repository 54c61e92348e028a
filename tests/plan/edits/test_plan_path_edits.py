from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from plan_strategies import plans

from gpu_studio.plan import Named, Plan, Training
from gpu_studio.plan.edits.change import keyed, value_at, with_option, with_value, without_option
from gpu_studio.plan.values import OutputTraining

PATHS = (
    "name",
    "model.options",
    "data.validation_fraction",
    "training.loss.name",
    "training.checkpoint.keep",
)
PLAN = Plan(
    training=Training(
        options={"momentum": 0.9, "nesterov": True}, metrics=(Named("auto"), Named("auc"))
    )
)


@settings(max_examples=25)
@given(plans())
def test_that_setting_what_is_there_changes_nothing(plan: Plan) -> None:
    for path in PATHS:
        assert with_value(plan, path, value_at(plan, path)) == plan


def test_that_a_metric_is_reached_by_its_number() -> None:
    changed = with_value(PLAN, "training.metrics[1].name", "recall")
    assert changed.training.metrics == (Named("auto"), Named("recall"))
    assert value_at(changed, "training.metrics[1].name") == "recall"


def test_that_an_output_of_any_name_is_reached_by_it() -> None:
    name = 'a."b\\'
    plan = replace(PLAN, training=replace(PLAN.training, outputs={name: OutputTraining()}))
    path = f"{keyed('training.outputs', name)}.loss_weight"
    assert value_at(plan, path) == 1.0
    assert with_value(plan, path, 2.0).training.outputs == {name: OutputTraining(None, 2.0)}
    nowhere = f"{keyed('training.outputs', 'c')}.metrics[0]"
    assert value_at(plan, nowhere) is None
    assert with_value(plan, nowhere, Named("auc")) == plan


@pytest.mark.parametrize("path", ["training.metrics[2].name", "training.early_stopping.patience"])
def test_that_a_place_that_the_plan_does_not_have_is_left_alone(path: str) -> None:
    assert value_at(PLAN, path) is None
    assert with_value(PLAN, path, 5) == PLAN


def test_that_an_option_keeps_its_place_and_goes_without_a_trace() -> None:
    changed = with_option(PLAN, "training.options", "momentum", 0.5)
    assert list(changed.training.options.items()) == [("momentum", 0.5), ("nesterov", True)]
    assert without_option(changed, "training.options", "momentum").training.options == {
        "nesterov": True
    }
    assert without_option(changed, "training.options", "rho") == changed


def test_that_a_path_that_no_plan_has_is_an_error() -> None:
    for path in ("training.epoch", "training.epochs[", "training.", ""):
        with pytest.raises(AttributeError):
            value_at(PLAN, path)
