"""What TensorFlow is asked about a plan: all that the answer depends on, and nothing else."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_plan_asker
import made_plan_facts
import pytest
from made_images import put

from gpu_studio.contract.consent import allow_folder
from gpu_studio.plan import (
    Data,
    DeviceSettings,
    Distribution,
    EarlyStopping,
    ModelSettings,
    Named,
    Plan,
    Training,
    loads,
    with_absolute_files,
    with_settings,
)
from gpu_studio.runs.questions import plan_question
from gpu_studio.runs.questions.ask import Answer
from gpu_studio.runs.questions.plan_question import (
    ask_about,
    ask_about_data,
    data_question,
    model_question,
)

PLAN = Plan(model=ModelSettings(name="mlp"), data=Data(name="digits"))
SEEN = {"name": "digits", "x_shape": [28, 28, 1], "train": 9, "preview": ["large"]}


def both(plan: Plan) -> str:
    return json.dumps([data_question(plan), model_question(plan, SEEN)])


@pytest.mark.parametrize(
    "edited",
    [
        replace(PLAN, name="another"),
        replace(
            PLAN,
            training=Training(
                epochs=5, batch_size=7, learning_rate=0.1, early_stopping=EarlyStopping()
            ),
        ),
        replace(PLAN, training=Training(schedule=Named("cosine"))),
        replace(PLAN, distribution=Distribution(strategy="mirrored")),
        replace(PLAN, devices=DeviceSettings(visible=("CPU:0",), memory_growth=True)),
    ],
)
def test_that_an_edit_that_changes_no_fact_is_the_same_question(edited) -> None:
    assert both(edited) == both(PLAN)


@pytest.mark.parametrize(
    "edited",
    [
        replace(PLAN, data=Data(name="mnist")),
        replace(PLAN, data=replace(PLAN.data, validation_fraction=0.3)),
        replace(PLAN, model=ModelSettings(name="mlp", options={"hidden": [3]})),
        replace(PLAN, training=Training(seed=1)),
        replace(PLAN, training=Training(optimizer="sgd")),
        replace(PLAN, training=Training(options={"momentum": 0.9})),
        replace(PLAN, training=Training(loss=Named("mse"))),
        replace(PLAN, training=Training(mixed_precision=True)),
    ],
)
def test_that_an_edit_that_may_change_a_fact_is_another_question(edited) -> None:
    assert both(edited) != both(PLAN)


def test_that_the_model_is_asked_about_the_shapes_and_not_about_the_samples() -> None:
    assert model_question(PLAN, SEEN) == model_question(PLAN, SEEN | {"train": 5, "preview": []})
    assert model_question(PLAN, SEEN) != model_question(PLAN, SEEN | {"x_shape": [8]})


def test_that_files_are_named_absolutely_with_size_and_time(tmp_path) -> None:
    path = tmp_path / "data.npz"
    path.write_bytes(b"12345")
    os.utime(path, ns=(5, 7))
    asked = data_question(with_absolute_files(Plan(data=Data(file="data.npz")), tmp_path))
    assert asked["files"] == {str(path): [5, 7]}
    assert loads(asked["plan"]).data.file == str(path)


def test_that_a_missing_file_is_asked_about_all_the_same(tmp_path) -> None:
    assert (
        data_question(with_absolute_files(Plan(data=Data(file="nothing.npz")), tmp_path))["files"]
        == {}
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "train/cats/2.png").touch(),
        lambda folder: (folder / "train/cats/1.png").unlink(),
        lambda folder: (folder / "test/dogs/1.png").rename(folder / "test/dogs/2.png"),
        lambda folder: (folder / "train/birds").mkdir(),
        lambda folder: (folder / "test").rename(folder.with_name("test")),
        lambda folder: folder.rename(folder.with_name("animals")),
    ],
)
def test_that_an_image_that_comes_or_goes_makes_another_question(tmp_path, change) -> None:
    names = ("train/cats/1.png", "train/dogs/1.png", "test/dogs/1.png")
    folder = put(tmp_path / "pets", dict.fromkeys(names, b""))
    for each in (folder, *folder.rglob("*")):
        os.utime(each, ns=(5, 7))
    plan = with_absolute_files(Plan(data=Data(folder="pets/")), tmp_path)
    before = data_question(plan)
    assert len(before["files"]) == 6
    assert before == data_question(plan)
    change(folder)
    assert data_question(plan) != before


def test_that_an_image_written_anew_is_the_same_question(tmp_path) -> None:
    """To ask the times of 100,000 images at each edit of a plan would take longer than the edit."""
    folder = put(tmp_path / "pets", {"cats/1.png": b"", "dogs/1.png": b""})
    before = data_question(with_absolute_files(Plan(data=Data(folder="pets/")), tmp_path))
    (folder / "cats/1.png").write_bytes(b"another image")
    assert data_question(with_absolute_files(Plan(data=Data(folder="pets/")), tmp_path)) == before


def test_that_the_data_are_told_before_the_model(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_ASKER_STARTS", str(tmp_path / "asked"))
    told = []
    command = fake_plan_asker.COMMAND
    answer = ask_about(PLAN, command=command, reported=lambda early: told.append(dict(early)))
    assert [early["model"] for early in told] == [None]
    assert answer["model"]["graph"]["name"] == "three"
    assert answer["data"]["train"] == 800


@pytest.mark.parametrize(("function", "trains"), [("fit", False), ("fit_2", True)])
def test_that_only_a_look_that_may_train_asks_for_what_a_later_call_of_fit_is_given(
    tmp_path, monkeypatch, function, trains
) -> None:
    asked: list[dict[str, Any]] = []

    def answering(_question: str, *, about: dict[str, Any], **_options: Any) -> Answer:
        asked.append(about)
        return Answer({"data": {"name": "train.py"}})

    monkeypatch.setattr(plan_question, "ask", answering)
    script = f"{tmp_path / 'train.py'}:{function}"
    (tmp_path / "train.py").write_text("model.fit(x, epochs=1)\nmodel.fit(x, epochs=2)\n")
    allow_folder(tmp_path)
    named = replace(PLAN, model=ModelSettings(python=script), data=Data(python=script))
    plan = with_absolute_files(named, tmp_path)
    ask_about(plan)
    assert not any("trains" in about for about in asked)
    del asked[:]
    ask_about(plan, trains=True)
    ask_about_data(plan, trains=True)
    assert [about.get("trains", False) for about in asked] == [trains] * 3


def test_that_the_fake_asker_answers_with_the_made_facts():
    written = fake_plan_asker.answers()
    assert written == json.loads(json.dumps(made_plan_facts.ANSWERS)), made_plan_facts.__doc__


def test_that_data_are_asked_after_for_as_many_workers_as_hold_them_on_this_machine() -> None:
    def together(*settings: str) -> int | None:
        plan = with_absolute_files(with_settings(PLAN, settings), Path())
        found: int | None = data_question(plan).get("together")
        return found

    workers = ("distribution.strategy=multi_worker", "cluster.workers=3")
    assert together() is None
    assert together(*workers) == 3
    assert together(*workers, "cluster.start=slurm") is None, "other machines hold them"
    assert together("distribution.strategy=parameter_server", "cluster.workers=3") is None
