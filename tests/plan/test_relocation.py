from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from real_runs import PLAN

from gpu_studio.contract.user_files import code_files
from gpu_studio.plan import Data, ModelSettings
from gpu_studio.plan.references import part_of, references_of, with_absolute_files
from gpu_studio.plan.values import Callback, Named, OutputTraining

FOLDER = Path("/plans")


def test_that_a_plan_of_built_ins_stays_as_it_is():
    assert with_absolute_files(PLAN, FOLDER) == PLAN


def test_that_each_kind_of_file_is_taken_as_relative_to_the_folder():
    moved = with_absolute_files(
        replace(PLAN, model=ModelSettings(file="a/m.keras"), data=Data(folder="images")), FOLDER
    )
    assert (moved.model.file, moved.data.folder) == ("/plans/a/m.keras", "/plans/images")
    moved = with_absolute_files(
        replace(PLAN, model=ModelSettings(python="m.py:f"), data=Data(python="/x/d.py:load")),
        FOLDER,
    )
    assert (moved.model.python, moved.data.python) == ("/plans/m.py:f", "/x/d.py:load")


def test_that_each_function_that_a_plan_names_is_found_and_taken_as_relative_to_the_folder():
    schedule = Callback("learning_rate_scheduler", {"schedule": "c.py:rate"})
    training = replace(
        PLAN.training,
        loss=Named("l.py:loss"),
        metrics=(Named("auto"), Named("l.py:iou")),
        outputs={"a": OutputTraining(Named("l.py:own"), metrics=(Named("auc"), Named("o.py:f")))},
        callbacks=(Callback("terminate_on_nan"), Callback("c.py:make", {"schedule": 2}), schedule),
    )
    plan = replace(PLAN, model=ModelSettings(python="m.py:f"), training=training)
    moved = with_absolute_files(plan, FOLDER)
    assert references_of(moved) == (
        ("model.python", "/plans/m.py:f"),
        ("training.loss", "/plans/l.py:loss"),
        ("training.metrics[1]", "/plans/l.py:iou"),
        ("training.outputs.a.loss", "/plans/l.py:own"),
        ("training.outputs.a.metrics[1]", "/plans/o.py:f"),
        ("training.callbacks[1].name", "/plans/c.py:make"),
        ("training.callbacks[2].options.schedule", "/plans/c.py:rate"),
    )
    assert [part_of(field) for field, _text in references_of(moved)][:2] == ["model", "training"]
    assert moved.training.callbacks[0] == training.callbacks[0]
    assert code_files(moved) == [FOLDER / "m.py", FOLDER / "l.py", FOLDER / "o.py", FOLDER / "c.py"]


def test_that_absolute_files_and_homes_are_kept():
    moved = with_absolute_files(
        replace(PLAN, model=ModelSettings(file="/m.keras"), data=Data(file="~/d.npz")), FOLDER
    )
    assert (moved.model.file, moved.data.file) == ("/m.keras", str(Path.home() / "d.npz"))


def test_that_the_home_of_an_unknown_user_is_no_home():
    moved = with_absolute_files(replace(PLAN, data=Data(file="~nobody-at-all/d.npz")), FOLDER)
    assert moved.data.file == "/plans/~nobody-at-all/d.npz"


def test_that_what_is_no_function_is_left_for_the_rules_to_refuse():
    moved = with_absolute_files(
        replace(PLAN, model=ModelSettings(python="nonsense"), data=Data(file="")), FOLDER
    )
    assert (moved.model.python, moved.data.file) == ("nonsense", "")


def test_that_no_folder_changes_a_plan_whose_files_are_absolute():
    plan = replace(PLAN, model=ModelSettings(file="m.keras"), data=Data(python="d.py:load"))
    once = with_absolute_files(plan, FOLDER)
    assert with_absolute_files(once, Path("/elsewhere")) == once


def test_that_a_folder_is_absolute_before_files_are_looked_for_in_it():
    moved = with_absolute_files(replace(PLAN, data=Data(file="d.npz")), Path("here"))
    assert moved.data.file == str(Path.cwd() / "here" / "d.npz")


def test_that_a_name_that_no_file_can_have_is_left_for_the_rules_to_refuse():
    moved = with_absolute_files(replace(PLAN, data=Data(file="~\0.npz")), FOLDER)
    assert moved.data.file == "/plans/~\0.npz"
