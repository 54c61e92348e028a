"""A plan written and read is the same plan."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from long_proofs import examples
from plan_strategies import machines, plans

from gpu_studio.plan import (
    Carve,
    Data,
    DeviceSettings,
    Distribution,
    EarlyStopping,
    Machine,
    ModelSettings,
    Named,
    Placed,
    Plan,
    Training,
    dumps,
    loads,
    starter,
    validate,
)
from gpu_studio.plan.rewriting import rewritten
from gpu_studio.plan.values import Callback, OutputTraining

FULL = Plan(
    name='a "quoted" name',
    devices=DeviceSettings(
        visible=("GPU:0",), carve=(Carve("GPU:0", (1024, 2048)), Carve("CPU:0", (0, 0)))
    ),
    model=ModelSettings(
        name="mlp", options={"hidden": [256, 256], "nested": {"a key": [1.5, True]}}
    ),
    data=Data(name="digits", validation_fraction=0.2),
    training=Training(
        options={"momentum": 0.9},
        schedule=Named("cosine", {"warmup_epochs": 2}),
        loss=Named("huber", {"delta": 0.5}),
        metrics=(Named("auto"), Named("sparse_top_k_categorical_accuracy", {"k": 3})),
        outputs={
            "kind": OutputTraining(loss_weight=0.5),
            "deep/size": OutputTraining(Named("huber", {"delta": 2.0}), 1.0, (Named("mse"),)),
            "left out": OutputTraining(Named("none"), metrics=()),
        },
        early_stopping=EarlyStopping(),
        callbacks=(
            Callback("reduce_lr_on_plateau", {"patience": 2}),
            Callback("callbacks.py:make", {"rates": {"0": 0.1}}),
            Callback("terminate_on_nan"),
        ),
    ),
    distribution=Distribution(
        strategy="placed",
        placed=Placed(
            4, {"dense": ("GPU:0",), "dense_1": ("GPU:0", "GPU:1"), "none yet": ()}, recompute=True
        ),
    ),
)


@pytest.mark.slow
@settings(max_examples=examples(125))
@given(plans(), plans(), st.none() | machines())
def test_that_many_plans_are_judged_written_and_read_and_a_file_of_one_made_that_of_another(
    before, after, machine
):
    """All that holds of any plan, of each that is made: that takes longer than all of it."""
    for plan in (before, after):
        assert all(str(problem).isprintable() for problem in validate(plan, machine))
        assert loads(dumps(plan)) == plan
    assert loads(rewritten(dumps(before), after)) == after


def test_that_a_plan_with_every_part_is_read_back():
    assert loads(dumps(FULL)) == FULL


def test_that_writing_is_stable():
    assert dumps(loads(dumps(FULL))) == dumps(FULL)


def test_that_options_stand_on_one_line_with_the_name_first():
    text = dumps(FULL)

    assert 'options = { hidden = [256, 256], nested = { "a key" = [1.5, true] } }\n' in text
    assert 'metrics = ["auto", { name = "sparse_top_k_categorical_accuracy", k = 3 }]\n' in text
    assert 'schedule = { name = "cosine", warmup_epochs = 2 }\n' in text
    assert 'layers = { dense = "GPU:0", dense_1 = ["GPU:0", "GPU:1"], "none yet" = [] }\n' in text


def test_that_the_sections_stand_in_the_order_of_the_work():
    heads = [line for line in dumps(FULL).splitlines() if line.startswith("[")]

    assert heads == [
        "[devices]",
        "[[devices.carve]]",
        "[[devices.carve]]",
        "[model]",
        "[data]",
        "[training]",
        "[training.outputs.kind]",
        '[training.outputs."deep/size"]',
        '[training.outputs."left out"]',
        "[training.early_stopping]",
        "[training.checkpoint]",
        "[[training.callbacks]]",
        "[[training.callbacks]]",
        "[[training.callbacks]]",
        "[distribution]",
        "[distribution.placed]",
    ]


def test_that_what_is_not_chosen_is_not_written():
    tables = tomllib.loads(dumps(Plan(model=ModelSettings(name="linear"))))

    assert tables["model"] == {"name": "linear"}
    assert "schedule" not in tables["training"]
    assert "early_stopping" not in tables["training"]
    assert "callbacks" not in tables["training"]
    assert "outputs" not in tables["training"]
    assert "placed" not in tables["distribution"]


def test_that_a_starter_plan_is_short_enough_to_read():
    assert len(dumps(starter(Machine(cpu_cores=4))).splitlines()) < 50
