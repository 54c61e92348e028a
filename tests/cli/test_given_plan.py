"""What is known about a run that the command line starts is saved beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_plan_facts import DATA, FACTS, MODEL

from gpu_studio import plan as plans
from gpu_studio.cli.given_plan import keep_prediction
from gpu_studio.common.paths import expanded
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import PlanFacts, encoded
from gpu_studio.plan import references
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.questions import answer_cache, ask
from gpu_studio.runs.questions.plan_question import data_question, model_question
from gpu_studio.runs.results import prediction

PLAN = plans.Plan(
    name="A plan", model=plans.ModelSettings(name="mlp"), data=plans.Data(name="digits")
)


def told_before(plan, *, model=True):
    """Keep the answers of TensorFlow's as if somebody had asked about the plan."""
    data = encoded(PlanFacts(DATA)) | {"data": encoded(DATA)}
    asked = [("data", data_question(plan), data)]
    asked += [("model", model_question(plan, data["data"]), encoded(MODEL))] if model else []
    for question, about, answer in asked:
        answer_cache.keep(ask.content_of(question, ask.ask_command(), {}, about), answer)


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
    told_before(plan)
    assert gpu_studio("train", plan_file).code == 0
    [trained] = directories(runs_dir)
    assert expected(plan, machine)
    assert prediction.read(trained) == prediction.Prediction(bytes=expected(plan, machine))


def test_that_nobody_is_asked_where_nothing_is_known(run, machine):
    keep_prediction(run, machine)
    assert prediction.read(run) is None
    told_before(PLAN, model=False)
    keep_prediction(run, machine)
    assert prediction.read(run) is None


def test_that_an_answer_that_cannot_be_made_out_is_as_none(run, machine):
    told_before(PLAN, model=False)
    about = model_question(PLAN, encoded(DATA))
    answer_cache.keep(
        ask.content_of("model", ask.ask_command(), {}, about), {"graph": "of another version"}
    )
    keep_prediction(run, machine)
    assert prediction.read(run) is None


def test_that_another_python_s_answers_are_never_taken(run, machine, monkeypatch):
    told_before(PLAN)
    monkeypatch.setenv("GPU_STUDIO_TRAINER", "/opt/tf/bin/python -m gpu_studio.trainer")
    keep_prediction(run, machine)
    assert prediction.read(run) is None


def test_that_a_run_that_is_gone_already_is_left_alone(run, machine):
    told_before(PLAN)
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
    told_before(plans.load(plan_file))
    for command in (("check", plan_file), ("train", plan_file), ("queue", "add", plan_file)):
        answer = gpu_studio(*command)
        assert answer.code == 2
        assert (
            "distribution.placed.layers.twoo is not a layer of the model: did you mean two?"
            in answer.err
        )
    assert directories(runs_dir) == []


@pytest.fixture
def own_data(plan_file, machine, trainer):
    """The plan file, of a plan whose data are a file beside it."""
    np.savez(plan_file.with_name("own.npz"), x=np.zeros((8, 3), np.float32), y=np.arange(8) % 2)
    plans.save(replace(plans.load(plan_file), data=plans.Data(file="own.npz")), plan_file)
    return plan_file


@pytest.fixture
def resolved(monkeypatch):
    """The names of files that were resolved against a folder, in order."""
    names = []

    def record(name):
        names.append(name)
        return expanded(name)

    monkeypatch.setattr(references, "expanded", record)
    return names


@pytest.mark.parametrize(
    "command", ["check {}", "train {} --detach", "queue add {} --hold", "export {}"]
)
def test_that_a_plan_s_files_become_absolute_once_where_it_is_read(
    gpu_studio, own_data, resolved, command
):
    assert gpu_studio(*command.format(own_data).split()).code == 0
    assert resolved.count("own.npz") == 1


def test_that_those_of_a_plan_that_a_run_goes_on_with_do_so_too(
    gpu_studio, own_data, resolved, ended
):
    plan = plans.with_absolute_files(plans.load(own_data), own_data.parent)
    run = ended("--vanish-at", "7", "--checkpoint-every", "2", plan=plan).directory
    resolved.clear()
    assert gpu_studio("resume", run.id, "--plan", own_data, "--detach").code == 0
    assert resolved.count("own.npz") == 1


def test_that_a_run_names_its_files_absolutely_and_the_plan_file_keeps_what_is_written(
    gpu_studio, own_data, runs_dir
):
    written = own_data.read_text()
    assert gpu_studio("train", own_data, "--detach").code == 0
    [run] = directories(runs_dir)
    assert plans.load(run.plan_file).data.file == str(own_data.with_name("own.npz"))
    assert own_data.read_text() == written


def test_that_a_missing_file_is_called_as_it_is_written(gpu_studio, own_data):
    own_data.with_name("own.npz").unlink()
    for command in ("check", "train"):
        answer = gpu_studio(command, own_data)
        assert answer.code == 2
        assert '"own.npz"' in answer.err
        assert f"{own_data.with_name('own.npz')} is where it was looked for" in answer.err
