from __future__ import annotations

import json
import os
import shlex

import numpy as np
import pytest

from gpu_studio import plan as plans
from gpu_studio.cli import given_plan
from gpu_studio.placement.plan_facts import ArrayFacts, DataFacts, PlanFacts, encoded

CARD = {"index": 0, "uuid": "GPU-1", "name": "H100", "total_mib": 8192, "used_mib": 0}
WITH_CARD = json.dumps({"cards": [CARD], "cpu_cores": 8, "memory_mib": 32768})


def test_that_a_plan_which_can_be_run_is_told_with_what_tensorflow_will_see(
    gpu_studio, plan_file, machine
):
    answer = gpu_studio("check", plan_file)
    assert answer.code == 0
    assert "this plan can be run" in answer.out
    assert "CPU:0" in answer.out
    assert "there is no NVIDIA driver" in answer.out


def test_that_code_which_trains_when_it_is_imported_is_warned_of(gpu_studio, tmp_path, machine):
    plan_file = tmp_path / "own.plan.toml"
    text = 'version = 1\n[model]\npython = "own.py:build"\n[data]\nname = "digits"\n'
    plan_file.write_text(text)
    (tmp_path / "own.py").write_text("def build(): ...\nbuild().fit(1, epochs=2)\n")
    assert gpu_studio("code", "allow", tmp_path / "own.py").code == 0
    answer = gpu_studio("check", plan_file)
    assert answer.code == 0
    assert answer.err.startswith(
        "own.py seems to train as soon as it is imported, by line 2. It is imported at each start"
    )
    (told,) = gpu_studio("check", plan_file, "--json").document["cautions"]
    assert told == answer.err.strip()
    as_script = gpu_studio("check", tmp_path / "own.py")  # which ends at its fit
    assert (as_script.code, as_script.err) == (0, "")


def test_that_it_is_said_which_call_of_fit_is_trained_and_another_is_chosen(
    gpu_studio, tmp_path, machine
):
    script = tmp_path / "train.py"
    script.write_text("model.fit(x, epochs=2)\nmodel.fit(x, epochs=3)\n")
    assert gpu_studio("code", "allow", script).code == 0
    first, second = gpu_studio("check", script), gpu_studio("check", script, "--fit", "2")
    assert (first.code, second.code, second.err) == (0, 0, "")
    assert first.err.startswith("train.py calls fit again in line 2: only what call 1 is given is")
    assert "--fit 2" in first.err
    spread = gpu_studio("check", script, "--fit", "2", "--set", "distribution.strategy=mirrored")
    assert spread.code == 2
    assert "Keras trains by the calls of fit before it on one device" in spread.err
    written = gpu_studio("starter", script, "--fit", "2", "--output", tmp_path / "two.plan.toml")
    assert written.code == 0
    plan = plans.load(tmp_path / "two.plan.toml")
    assert (plan.model.python, plan.training.epochs) == ("train.py:fit_2", 3)
    again = gpu_studio("check", tmp_path / "two.plan.toml", "--fit", "2")
    assert again.code == 2
    assert 'that is for a script; a plan names it: model.python = "train.py:fit_2"' in again.err


@pytest.mark.parametrize("number", ["0", "-1", "two", "1e3", "10000"])
def test_that_what_is_no_number_of_a_call_is_refused(gpu_studio, plan_file, number):
    answer = gpu_studio("check", plan_file, "--fit", number)
    assert answer.code == 2
    assert "count from 1" in answer.err or "expected one argument" in answer.err


def test_that_what_the_script_gives_fit_is_checked_once_it_is_known(
    gpu_studio, tmp_path, machine, monkeypatch
):
    script = tmp_path / "train.py"
    script.write_text("model.fit(x, y, batch_size=size())\n")
    assert gpu_studio("code", "allow", script).code == 0
    facts = PlanFacts(DataFacts("train.py", "classes", 2, 9, fit={"batch_size": 1}))
    monkeypatch.setattr(given_plan, "kept_about", lambda _plan: encoded(facts))
    carved = "devices.carve=[{ device = 'CPU:0', slices_mib = [0, 0] }]"
    answer = gpu_studio("check", script, "--set", carved, "distribution.strategy=mirrored")
    assert answer.code == 2
    assert "training.batch_size is 1: " in answer.err


def test_that_what_is_known_of_the_data_is_checked_where_the_model_was_refused(
    gpu_studio, plan_file, machine, monkeypatch
):
    facts = PlanFacts(DataFacts("made", "values", None, 9, targets=(ArrayFacts(missing=5),)))
    monkeypatch.setattr(given_plan, "kept_about", lambda _plan: None)
    monkeypatch.setattr(given_plan, "kept_about_data", lambda _plan: encoded(facts))
    answer = gpu_studio("check", plan_file)
    assert answer.code == 2
    assert "y holds values that are no finite numbers, first in sample 5" in answer.err


def test_that_check_writes_one_json_document(gpu_studio, plan_file, machine):
    carved = "devices.carve=[{ device = 'CPU:0', slices_mib = [0, 0] }]"
    answer = gpu_studio(
        "check", plan_file, "--json", "--set", carved, "distribution.strategy=mirrored"
    )
    assert answer.code == 0
    assert answer.document == {
        "plan": "A plan",
        "strategy": "mirrored",
        "devices": [
            {
                "name": f"CPU:{index}",
                "physical": "CPU:0",
                "limit_mib": None,
                "available_mib": None,
            }
            for index in range(2)
        ],
        "replicas": ["CPU:0", "CPU:1"],
        "problems": [],
        "waits": "",
    }


def test_that_every_problem_is_listed_at_once(gpu_studio, plan_file, machine):
    wrong = ["--set", "training.epochs=0", "training.batch_size=-3"]
    answer = gpu_studio("check", plan_file, *wrong)
    assert answer.code == 2
    assert "training.epochs is 0: " in answer.err
    assert "training.batch_size is -3: " in answer.err
    answer = gpu_studio("check", plan_file, "--json", *wrong)
    assert answer.code == 2
    found = {problem["field"]: problem for problem in answer.document["problems"]}
    assert found["training.epochs"]["received"] == "0"
    assert found["training.batch_size"]["advice"]


def test_that_a_file_which_is_no_plan_is_refused(gpu_studio, tmp_path, machine):
    path = tmp_path / "x.plan.toml"
    assert gpu_studio("check", path).code == 2
    path.write_text("version = 1\n[training]\nepoch = 3\n")
    answer = gpu_studio("check", path)
    assert answer.code == 2
    assert "epochs" in answer.err


def test_that_data_is_looked_for_beside_the_plan(gpu_studio, plan_file, machine):
    settings = ["--set", "data.file=mine.npz"]
    assert "no such file" in gpu_studio("check", plan_file, *settings).err
    np.savez(plan_file.parent / "mine.npz", x=np.zeros((9, 2)), y=np.zeros(9))
    assert gpu_studio("check", plan_file, *settings).code == 0


def test_that_a_plan_can_be_held_against_another_machine(gpu_studio, plan_file, tmp_path, machine):
    described = tmp_path / "node.json"
    described.write_text(WITH_CARD)
    carve = ["--set", "devices.carve=[{ device = 'GPU:0', slices_mib = [1024, 1024] }]"]
    assert gpu_studio("check", plan_file, *carve).code == 2
    answer = gpu_studio("check", plan_file, *carve, "--machine", described)
    assert answer.code == 0
    assert "1 GiB" in answer.out


def test_that_check_tells_what_tensorflow_would_take_of_a_card_and_what_is_not_free_now(
    gpu_studio, plan_file, tmp_path, machine
):
    """Of an H100, 512 MiB are the process's own, and 1,800 MiB are kept for CUDA's libraries."""
    described = tmp_path / "node.json"
    given = ["--machine", described]
    described.write_text(WITH_CARD)
    assert "up to 5.7 GiB" in gpu_studio("check", plan_file, *given).out
    held = {**CARD, "used_mib": 6144, "users": [{"pid": 7, "used_mib": 6144, "command": "hog"}]}
    described.write_text(json.dumps({"cards": [held], "cpu_cores": 8, "memory_mib": 32768}))
    answer = gpu_studio("check", plan_file, *given)
    assert answer.code == 0
    assert "up to 1.3 GiB" in answer.out
    assert "Not now" not in answer.err, "how much it needs is not known"
    carve = ["--set", "devices.carve=[{ device = 'GPU:0', slices_mib = [1024, 1024] }]"]
    answer = gpu_studio("check", plan_file, *given, *carve)
    assert answer.code == 0
    assert "Not now" not in answer.err
    over = [*carve, "distribution.strategy=mirrored"]
    assert "Not now: it waits for 2 GiB on GPU 0: 1 GiB can be had now" in (
        gpu_studio("check", plan_file, *given, *over).err
    )


@pytest.mark.parametrize("content", ["", "{", '{"cards": 3}', "{}", '{"other": 1}'])
def test_that_a_file_which_describes_no_machine_is_refused(
    gpu_studio, plan_file, tmp_path, content
):
    described = tmp_path / "node.json"
    described.write_text(content)
    answer = gpu_studio("check", plan_file, "--machine", described)
    assert answer.code == 2
    assert "describes no machine" in answer.err
    described.unlink()
    answer = gpu_studio("check", plan_file, "--machine", described)
    assert (answer.code, "No such file" in answer.err) == (2, True)


def test_that_a_pipe_or_a_device_is_not_waited_for_as_a_machine(gpu_studio, plan_file, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, words in ((tmp_path / "pipe", "but a pipe"), ("/dev/zero", "but a device")):
        answer = gpu_studio("check", plan_file, "--machine", path)
        assert (answer.code, words in answer.err) == (2, True)


def test_that_a_version_of_thousands_of_digits_is_refused_in_words(gpu_studio, plan_file):
    plan_file.write_text(f"version = 0x{'f' * 5000}\n")
    answer = gpu_studio("check", plan_file)
    assert answer.code == 2
    assert "a number of 20000 bits" in answer.err


def test_that_the_starter_plan_is_a_plan_made_for_this_machine(gpu_studio, machine):
    answer = gpu_studio("starter")
    assert answer.code == 0
    assert plans.loads(answer.out) == plans.starter(machine)
    assert (
        gpu_studio("starter", "--json").document["training"]["epochs"]
        == plans.starter(machine).training.epochs
    )


def test_that_a_starter_plan_of_a_script_trains_it_on_this_machine(gpu_studio, machine, tmp_path):
    script, path = tmp_path / "churn.py", tmp_path / "my plans" / "churn's.plan.toml"
    script.write_text("model.fit(x, y, epochs=9)")
    path.parent.mkdir()
    answer = gpu_studio("starter", script, "--output", path)
    told = shlex.split(answer.err.partition("with: ")[2])
    assert (answer.code, told) == (0, ["gpu-studio", "train", str(path)])
    plan = plans.load(path)
    assert plan.devices == plans.starter(machine).devices
    assert (plan.model.python, plan.training.epochs) == (f"{script}:fit", 9)
    answer = gpu_studio("starter", path)
    assert (answer.code, "no Python script" in answer.err) == (2, True)


@pytest.mark.parametrize("name", ["train.py", "new.py"])
def test_that_no_plan_is_written_in_the_place_of_a_script(gpu_studio, machine, tmp_path, name):
    script = tmp_path / "train.py"
    script.write_text("import keras\nkeras.Model().fit([1.0], epochs=4)\n")
    before = script.read_text()
    for command in (["starter", script, "--output"], ["place", script, "--estimate", "--to"]):
        answer = gpu_studio(*command, tmp_path / name, "--force")
        assert answer.code == 2
        assert f"{name} has the name of a Python file" in answer.err
    assert script.read_text() == before
    assert not (tmp_path / "new.py").exists()
    with pytest.raises(OSError, match=r"call it train\.plan\.toml"):
        plans.save(plans.Plan(), script)


def test_that_the_starter_plan_can_be_written_but_replaces_nothing_unasked(
    gpu_studio, machine, tmp_path
):
    path = tmp_path / "my.plan.toml"
    assert gpu_studio("starter", "--output", path).code == 0
    assert plans.load(path) == plans.starter(machine)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("mine")
    refused = gpu_studio("starter", "--output", path)
    assert (refused.code, path.read_text()) == (2, "mine")
    assert "--force" in refused.err
    assert gpu_studio("starter", "--output", path, "--force").code == 0
    assert plans.load(path) == plans.starter(machine)


def test_that_the_real_machine_has_a_starter_plan_that_it_can_run(gpu_studio, tmp_path):
    path = tmp_path / "real.plan.toml"
    assert gpu_studio("starter", "--output", path).code == 0
    assert gpu_studio("check", path).code == 0
