"""What a run would refuse at its start is a problem of the plan before."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from made_plan_facts import DATA, MODEL

from gpu_studio.placement.known_problems import known_problems
from gpu_studio.placement.plan_facts import ArrayFacts, DataFacts, ModelFacts, PlanFacts
from gpu_studio.plan import Card, Distribution, Machine, ModelSettings, Plan, Problem, Training
from gpu_studio.plan.values import CheckpointSettings, EarlyStopping, Named, Phase, Placed

MEASURED = replace(MODEL, measures=("loss", "miss_rate"))
UNKNOWN = replace(DATA, streamed="batches of 8, their number unknown")
ENDLESS = replace(DATA, streamed="batches of 8, without end")
OWN = ModelFacts(own_steps=("train_step",))
COSINE = Named("cosine", {"warmup_epochs": 3})
TWO_CARDS = Machine(cards=(Card(0, "GPU-0", "A"), Card(1, "GPU-1", "A")))


def told(training: Training, data: DataFacts = DATA, model: ModelFacts = MODEL) -> tuple[str, ...]:
    plan = Plan(training=training)
    return tuple(str(each) for each in known_problems(plan, PlanFacts(data, model)))


@pytest.mark.parametrize(
    ("training", "data", "model", "said"),
    [
        (Training(), ENDLESS, MODEL, "training.steps_per_epoch is 0: .*never end"),
        (Training(schedule=Named("cosine")), UNKNOWN, MODEL, "training.schedule is cosine: .*set"),
        (
            Training(schedule=COSINE, epochs=3),
            DATA,
            MODEL,
            "training.schedule is warming up for .* steps of .*: shorten it",
        ),
        (Training(epochs=2, phases=(Phase(1, 0.1),)), DATA, OWN, "training.phases .*new optimizer"),
        (
            Training(early_stopping=EarlyStopping("val_hit_rate")),
            DATA,
            MEASURED,
            "early_stopping.monitor .*choose loss, miss_rate, val_loss or val_miss_rate",
        ),
        (
            Training(early_stopping=EarlyStopping("val_loss")),
            replace(DATA, validation=0),
            MEASURED,
            "early_stopping.monitor .*nothing is validated.*or monitor loss",
        ),
        (
            Training(checkpoint=CheckpointSettings(monitor="hit_rate")),
            DATA,
            MEASURED,
            "checkpoint.monitor .*nothing measures it",
        ),
    ],
)
def test_that_what_a_run_would_refuse_is_told_before(
    training: Training, data: DataFacts, model: ModelFacts, said: str
) -> None:
    (problem,) = told(training, data, model)
    assert re.search(said, problem), problem


@pytest.mark.parametrize(
    ("training", "data", "model"),
    [
        (Training(steps_per_epoch=5), ENDLESS, MODEL),
        (Training(schedule=Named("cosine"), steps_per_epoch=5), UNKNOWN, MODEL),
        (Training(schedule=Named("step", {"every_steps": 5})), UNKNOWN, MODEL),
        (Training(schedule=COSINE, epochs=4), DATA, MODEL),
        (Training(class_weight={"0": 2.0}), DATA, MODEL),
        (Training(class_weight={"0": 2.0}), DATA, OWN),
        (Training(early_stopping=EarlyStopping("val_miss_rate")), DATA, MEASURED),
        (Training(early_stopping=EarlyStopping("whatever")), DATA, OWN),
        (Training(early_stopping=EarlyStopping("val_loss")), replace(UNKNOWN, validation=0), OWN),
    ],
)
def test_that_a_plan_that_trains_is_not_spoken_of(
    training: Training, data: DataFacts, model: ModelFacts
) -> None:
    assert told(training, data, model) == ()


def test_that_a_built_in_model_is_not_given_what_is_no_number() -> None:
    lacks = replace(DATA, lacking=("x_val/age holds a value that is no finite number.",))
    built_in = Plan(model=ModelSettings(name="mlp"))
    (found,) = known_problems(built_in, PlanFacts(lacks, MODEL))
    said = str(found)
    assert said.startswith("model.name is ")
    assert "in made, x_val/age holds a value that is no finite number; the loss" in said
    own = Plan(model=ModelSettings(python="own.py:build"))
    assert not list(known_problems(own, PlanFacts(lacks, MODEL)))


LEFT_OUT = replace(DATA, targets=(ArrayFacts(("dose",), missing=7),))


@pytest.mark.parametrize(
    ("model", "training", "told_of"),
    [
        (ModelSettings(name="mlp"), Training(), True),
        (ModelSettings(python="own.py:build"), Training(loss=Named("mse")), True),
        (ModelSettings(python="own.py:build"), Training(), False),  # as compiled, perhaps
        (ModelSettings(name="mlp"), Training(loss=Named("losses.py:masked")), False),
    ],
)
def test_that_no_loss_of_keras_is_given_targets_that_are_no_numbers(
    model: ModelSettings, training: Training, told_of: bool
) -> None:
    plan = Plan(model=model, training=training)
    found = [str(each) for each in known_problems(plan, PlanFacts(LEFT_OUT))]
    assert len(found) == told_of
    for said in found:
        assert said.startswith("training.loss is ")
        assert "in made, y/dose holds values that are no finite numbers, first in sample 7" in said
    refused = replace(MODEL, training_error="The targets hold nan.")
    problems = known_problems(plan, PlanFacts(LEFT_OUT, refused))
    assert [each.field for each in problems] == ["training"]  # said once


def test_that_a_loss_is_not_scaled_where_replicas_share_their_variables() -> None:
    plan = Plan(training=Training(mixed_precision=True), distribution=Distribution("mirrored"))
    facts = PlanFacts(DATA, replace(MODEL, policy="mixed_float16"))
    assert known_problems(plan, facts, machine=TWO_CARDS) == ()
    shared = replace(plan, distribution=Distribution("central_storage"))
    (problem,) = known_problems(shared, facts, machine=TWO_CARDS)
    assert "float16" in str(problem)
    assert known_problems(shared, PlanFacts(DATA, MODEL), machine=TWO_CARDS) == ()


def test_that_what_another_rule_says_of_the_same_field_is_not_said_twice() -> None:
    plan = Plan(training=Training(early_stopping=EarlyStopping("val_hit_rate")))
    known = Problem("training.early_stopping.monitor", "val_hit_rate", "choose another")
    assert known_problems(plan, PlanFacts(DATA, MEASURED), [known]) == ()


def test_that_servers_refuse_steps_of_the_models_own_before_the_start() -> None:
    plan = Plan(distribution=Distribution("parameter_server"))
    (refused,) = known_problems(plan, PlanFacts(DATA, OWN))
    assert "own train_step, which knows nothing of servers" in str(refused)
    assert known_problems(replace(plan, distribution=Distribution()), PlanFacts(DATA, OWN)) == ()


WHOLE = replace(DATA, train=80, validation=20, test=0)


@pytest.mark.parametrize(
    ("distribution", "training", "data", "said"),
    [
        (Distribution("none"), Training(batch_size=20), WHOLE, ""),
        (Distribution("none"), Training(batch_size=20), ENDLESS, "steps_per_epoch is 0"),
        (
            Distribution("mirrored"),
            Training(batch_size=20),
            WHOLE,
            '^distribution.strategy is "mirrored": the layer memory .* of 20 .* cannot share: ch',
        ),
        (Distribution("placed", placed=Placed()), Training(batch_size=20), WHOLE, ""),
        (
            Distribution("placed", placed=Placed(micro_batches=4)),
            Training(batch_size=20),
            WHOLE,
            "^distribution.placed.micro_batches is 4: .* cannot share",
        ),
        (
            Distribution("parameter_server"),
            Training(batch_size=20),
            WHOLE,
            "^distribution.strategy is .* cannot share",
        ),
        (
            Distribution("none"),
            Training(batch_size=10),
            WHOLE,
            "^training.batch_size is 10: .* have 10: set training.batch_size to 20, or",
        ),
        (
            Distribution("none"),
            Training(batch_size=20),
            replace(WHOLE, train=85),
            "last batch of training samples has 5: let the training samples be a mult",
        ),
        (
            Distribution("none"),
            Training(batch_size=20, steps_per_epoch=4),
            replace(WHOLE, train=85),
            "",
        ),
        (
            Distribution("none"),
            Training(batch_size=20),
            replace(WHOLE, test=7),
            "the last batch of test samples has 7",
        ),
    ],
)
def test_that_a_layer_that_keeps_states_gets_whole_batches_or_is_told_of(
    distribution: Distribution, training: Training, data: DataFacts, said: str
) -> None:
    facts = PlanFacts(data, replace(MODEL, states=("memory", 20)))
    plan = Plan(training=training, distribution=distribution)
    problems = [str(each) for each in known_problems(plan, facts, machine=TWO_CARDS)]
    assert len(problems) == bool(said)
    assert all(re.search(said, each) for each in problems), problems
