from __future__ import annotations

import json
import subprocess
import sys

import pytest

from gpu_studio import plan as plans
from gpu_studio.export import python_script
from gpu_studio.placement.plan_facts import DataFacts, Learnt, ModelFacts, PlanFacts, encoded
from gpu_studio.runs.questions import plan_question

CARD = {"index": 0, "uuid": "GPU-1", "name": "H100", "total_mib": 8192, "used_mib": 0}


def test_that_a_script_goes_to_stdout(gpu_studio, plan_file, machine):
    answer = gpu_studio("export", plan_file)
    assert answer.code == 0
    assert answer.out == python_script(plans.load(plan_file), machine, plan_file.parent)
    compile(answer.out, "train.py", "exec")


def test_that_a_script_is_written_with_what_it_reads_beside_it(
    gpu_studio, plan_file, machine, tmp_path
):
    target = tmp_path / "my $HOME.py"
    digits = "data.name=digits"
    answer = gpu_studio("export", plan_file, "--to", target, "--set", digits)
    assert (answer.code, answer.out) == (0, "")
    assert f"python '{target}'" in answer.err  # as a shell takes it
    compile(target.read_text(), str(target), "exec")
    assert {
        path.name: path.stat().st_mode & 0o777 for path in (target, tmp_path / "digits.npz")
    } == {
        "my $HOME.py": 0o600,
        "digits.npz": 0o600,
    }
    hint = gpu_studio("export", plan_file, "--set", digits)
    assert "digits.npz" in hint.err
    assert "--to" in hint.err


def test_that_nothing_is_replaced_unasked(gpu_studio, plan_file, machine, tmp_path):
    target, digits = tmp_path / "train.py", tmp_path / "digits.npz"
    target.write_text("mine")
    refused = gpu_studio("export", plan_file, "--to", target)
    assert (refused.code, target.read_text()) == (2, "mine")
    assert "--force" in refused.err
    assert not digits.exists()
    assert gpu_studio("export", plan_file, "--to", target, "--force").code == 0
    assert target.read_text() != "mine"
    # The same again replaces nothing.
    assert gpu_studio("export", plan_file, "--to", target).code == 0
    digits.write_text("mine")
    assert gpu_studio("export", plan_file, "--to", tmp_path / "other.py").code == 2
    assert (digits.read_text(), (tmp_path / "other.py").exists()) == ("mine", False)


def test_that_settings_are_laid_over_the_plan(gpu_studio, plan_file, machine):
    answer = gpu_studio("export", plan_file, "--set", "training.epochs=77")
    assert "EPOCHS = 77" in answer.out


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["training.epochs=0"], "training.epochs is 0"),
        (["model.python=models.py:build"], "model.python"),
        (["data.file=mine.npz"], "no such file"),
        (["training.options={ dtype = 'float16' }"], "not an option of Keras"),
    ],
)
def test_that_a_plan_which_cannot_be_exported_is_refused_in_words(
    gpu_studio, plan_file, machine, settings, said
):
    answer = gpu_studio("export", plan_file, "--set", *settings)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_that_a_folder_which_is_not_there_is_said(gpu_studio, plan_file, machine, tmp_path):
    answer = gpu_studio("export", plan_file, "--to", tmp_path / "no" / "train.py")
    assert answer.code == 2
    assert f"There is no folder {tmp_path / 'no'}: make it" in answer.err


def test_that_a_script_can_be_written_for_another_machine(gpu_studio, plan_file, machine, tmp_path):
    described = tmp_path / "node.json"
    described.write_text(json.dumps({"cards": [CARD], "cpu_cores": 8, "memory_mib": 32768}))
    visible = ["--set", 'devices.visible=["GPU:0"]']
    assert '"CUDA_VISIBLE_DEVICES"] = "0"' in gpu_studio("export", plan_file, *visible).out
    assert (
        '"CUDA_VISIBLE_DEVICES"] = "GPU-1"'
        in gpu_studio("export", plan_file, *visible, "--machine", described).out
    )
    wrong = gpu_studio(
        "export", plan_file, "--set", 'devices.visible=["GPU:3"]', "--machine", described
    )
    assert (wrong.code, "GPU:3" in wrong.err) == (2, True)


def test_that_help_shows_how_to_export(gpu_studio):
    answer = gpu_studio("export", "--help")
    assert answer.code == 0
    assert "gpu-studio export digits.plan.toml --to train.py" in answer.out
    assert "export" in gpu_studio("--help").out


@pytest.mark.slow
def test_that_export_starts_without_tensorflow_and_qt(plan_file):
    program = (
        "import sys; from gpu_studio.cli import main; code = main(['export', sys.argv[1]]); "
        "sys.exit(code or 9 * bool({'tensorflow', 'keras', 'PySide6'} & set(sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(plan_file)], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr


def test_that_a_script_with_data_of_ones_own_asks_what_they_are(
    gpu_studio, plan_file, machine, tmp_path, monkeypatch
):
    own = tmp_path / "own_data.py"
    own.write_text("def load():\n    return [[0.0, 1.0]] * 9, [0, 1, 2] * 3\n")
    settings = [f"--set=data.{each}" for each in ("name=", "options={}", f"python={own}:load")]
    refused = gpu_studio("export", plan_file, *settings)
    assert refused.code == 2
    assert "allow" in refused.err
    assert "own_data.py" in refused.err
    seen = DataFacts("load", "classes", 3, 9, x_shape=(2,), arrays=("x", "y"))
    monkeypatch.setattr(plan_question, "ask_about_data", lambda *_, **__: encoded(PlanFacts(seen)))
    assert 'call_own(DATA_FILE, "load"' in gpu_studio("export", plan_file, *settings).out
    for file in (own, plan_file):  # which the script itself reads, or which it is of
        before = file.read_bytes()
        refused = gpu_studio("export", plan_file, *settings, "--to", file, "--force")
        assert (refused.code, "is a file of the plan itself" in refused.err) == (2, True)
        assert file.read_bytes() == before
    monkeypatch.setattr(
        plan_question, "ask_about_data", lambda *_, **__: encoded(PlanFacts(data_error="No rows."))
    )
    failed = gpu_studio("export", plan_file, *settings)
    assert (failed.code, failed.out) == (2, "")
    assert "No rows." in failed.err


def test_that_it_is_said_which_call_of_fit_of_a_script_is_exported(
    gpu_studio, machine, tmp_path, monkeypatch
):
    script = tmp_path / "train.py"
    script.write_text("model.fit(x, y, epochs=2)\nmodel.fit(x, y, epochs=3)\n")
    assert gpu_studio("code", "allow", script).code == 0
    seen = DataFacts("train.py", "values", None, 9, x_shape=(2,), y_shape=(1,), arrays=("x", "y"))
    built = ModelFacts(learnt=Learnt("values", False, "mse", (), compiled=True))
    asked = []

    def answering(plan, *, trains, **_options):
        asked.append((plan.model.python, trains))
        return encoded(PlanFacts(seen, model=built))

    monkeypatch.setattr(plan_question, "ask_about", answering)
    monkeypatch.setattr(plan_question, "ask_about_data", answering)
    first, second = gpu_studio("export", script), gpu_studio("export", script, "--fit", "2")
    assert (first.code, second.code) == (0, 0)
    assert "train.py calls fit again in line 2: only what call 1 is given" in first.err
    assert "calls fit again" not in second.err
    assert '"fit:model"' in first.out
    assert '"fit_2:model"' in second.out
    assert {trains for _, trains in asked} == {True}
    compile(second.out, "train.py", "exec")


WORKERS = "distribution.strategy=multi_worker"


def test_that_what_starts_workers_goes_to_stdout_by_its_word(gpu_studio, plan_file, machine):
    image = 'cluster.kubernetes={ image = "tensorflow/tensorflow:2.21.0" }'
    for kind, begins in (
        ("script", "# "),
        ("tf_config", '{"cluster": '),
        ("launch", "#!/usr/bin/env bash\n"),
        ("sbatch", "#!/bin/bash\n"),
        ("kubernetes", "# "),
    ):
        answer = gpu_studio("export", plan_file, "--to", kind, "--set", WORKERS, image)
        assert (answer.code, answer.out.startswith(begins)) == (0, True), answer.err
        assert ("It starts train.py" in answer.err) == (kind in ("launch", "sbatch"))


def test_that_the_ending_of_a_file_says_what_it_is_and_the_script_lies_beside_it(
    gpu_studio, plan_file, machine, tmp_path
):
    target = tmp_path / "out" / "a job.sbatch"
    target.parent.mkdir()
    settings = ("--set", WORKERS, "data.name=digits")
    answer = gpu_studio("export", plan_file, "--to", target, *settings)
    assert (answer.code, answer.out) == (0, "")
    assert "sbatch 'a job.sbatch'" in answer.err
    names = sorted(path.name for path in target.parent.iterdir())
    assert names == ["a job.sbatch", "digits.npz", "train.py"]
    assert "#SBATCH --ntasks=2" in target.read_text()
    (target.parent / "train.py").write_text("mine")
    refused = gpu_studio("export", plan_file, "--to", target.with_name("l.sh"), *settings)
    assert (refused.code, "--force" in refused.err) == (2, True)
    assert not target.with_name("l.sh").exists()


def test_that_workers_of_a_plan_of_one_process_are_refused_before_anything_is_looked_at(
    gpu_studio, plan_file, machine
):
    answer = gpu_studio("export", plan_file, "--to", "sbatch")
    assert (answer.code, answer.out) == (2, "")
    assert "multi_worker" in answer.err
    answer = gpu_studio("export", plan_file, "--to", "kubernetes", "--set", WORKERS)
    assert (answer.code, "cluster.kubernetes.image" in answer.err) == (2, True)
