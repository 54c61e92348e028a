"""What is known about a run that the command line starts is saved beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_plan_facts import DATA, FACTS, MODEL

from gpu_studio import plan as plans
from gpu_studio.cli.given_plan import keep_prediction
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import PlanFacts, encoded
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.questions import answer_cache, ask
from gpu_studio.runs.questions.plan_question import data_question, model_question
from gpu_studio.runs.results import prediction

PLAN = plans.Plan(
    name="A plan", model=plans.ModelSettings(name="mlp"), data=plans.Data(name="digits")
)


def told_before(plan, base, *, model=True):
    """Keep the answers of TensorFlow's as if somebody had asked about the plan."""
    data = encoded(PlanFacts(DATA)) | {"data": encoded(DATA)}
    asked = [("data", data_question(plan, base), data)]
    asked += [("model", model_question(plan, base, data["data"]), encoded(MODEL))] if model else []
    for question, about, answer in asked:
        answer_cache.keep(ask._content(question, ask.ask_command(), {}, about), answer)


def expected(plan, machine):
    return {memory.device: memory.total for memory in predict(plan, machine, FACTS) if memory.total}


@pytest.fixture
def run(runs_dir):
    made = RunDirectory.create(runs_dir, PLAN.name)
    plans.save(PLAN, made.plan_file)
    return made


def test_that_training_writes_down_what_was_predicted(
    gpu_studio, plan_file, machine, trainer, runs_dir
):
    plan = plans.load(plan_file)
    told_before(plan, plan_file.parent)
    assert gpu_studio("train", plan_file).code == 0
    [trained] = directories(runs_dir)
    assert expected(plan, machine)
    assert prediction.read(trained) == prediction.Prediction(bytes=expected(plan, machine))


def test_that_nobody_is_asked_where_nothing_is_known(run, machine):
    keep_prediction(run, machine)
    assert prediction.read(run) is None
    told_before(PLAN, run.path, model=False)
    keep_prediction(run, machine)
    assert prediction.read(run) is None


def test_that_an_answer_that_cannot_be_made_out_is_as_none(run, machine):
    told_before(PLAN, run.path, model=False)
    about = model_question(PLAN, run.path, encoded(DATA))
    answer_cache.keep(
        ask._content("model", ask.ask_command(), {}, about), {"graph": "of another version"}
    )
    keep_prediction(run, machine)
    assert prediction.read(run) is None


def test_that_another_python_s_answers_are_never_taken(run, machine, monkeypatch):
    told_before(PLAN, run.path)
    monkeypatch.setenv("GPU_STUDIO_TRAINER", "/opt/tf/bin/python -m gpu_studio.trainer")
    keep_prediction(run, machine)
    assert prediction.read(run) is None


def test_that_a_run_that_is_gone_already_is_left_alone(run, machine):
    told_before(PLAN, run.path)
    run.plan_file.unlink()
    keep_prediction(run, machine)
    assert prediction.read(run) is None


def test_that_a_placement_which_the_model_is_known_not_to_have_is_refused_before_anything_starts(
    gpu_studio, plan_file, machine, trainer, runs_dir
):
    placed = plans.Distribution(
        "placed", placed=plans.Placed(2, {"one": ("CPU:0",), "twoo": ("CPU:0",)})
    )
    plans.save(replace(plans.load(plan_file), distribution=placed), plan_file)
    assert gpu_studio("check", plan_file).code == 0
    told_before(plans.load(plan_file), plan_file.parent)
    for command in (("check", plan_file), ("train", plan_file), ("queue", "add", plan_file)):
        answer = gpu_studio(*command)
        assert answer.code == 2
        assert (
            "distribution.placed.layers.twoo is not a layer of the model: did you mean two?"
            in answer.err
        )
    assert directories(runs_dir) == []
