"""Refusals of `runs evaluate` and `runs save-model`, and what `runs show` prints of results."""

from __future__ import annotations

import shlex
import sys

import fake_checkpoint_asker
import pytest
from made_runs import Script, make_run

from gpu_studio import plan as plans
from gpu_studio.runs.launch import TRAINER_VARIABLE
from gpu_studio.runs.results.evaluations import Evaluation, evaluations, keep


@pytest.fixture
def run(runs_dir):
    return make_run(runs_dir, Script(trained=3, ending="stopped"))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("evaluate", "latest", "--checkpoint", "step-00000601"), "did you mean step-00000600?"),
        (("save-model", "latest", "model.h5"), "end in .keras"),
        (("save-model", "latest", "not/there.keras"), "There is no folder"),
        (("evaluate", "nothing"), "There is no run"),
    ],
)
def test_that_what_cannot_be_done_is_refused_with_the_reason(
    gpu_studio, run, tmp_path, words, why
) -> None:
    answer = gpu_studio("--runs-dir", run.path.parent, "runs", *words)
    assert answer.code == 2
    assert why in answer.err
    assert answer.out == ""


def test_that_a_model_that_is_there_is_kept_without_force(gpu_studio, run, tmp_path) -> None:
    path = tmp_path / "mine.keras"
    path.write_bytes(b"old")
    answer = gpu_studio("--runs-dir", run.path.parent, "runs", "save-model", "latest", path)
    assert (answer.code, path.read_bytes()) == (2, b"old")


def test_that_a_run_without_a_checkpoint_has_nothing_to_evaluate(gpu_studio, runs_dir) -> None:
    run = make_run(runs_dir, Script(trained=0.4))
    answer = gpu_studio("--runs-dir", runs_dir, "runs", "evaluate", run.id)
    assert answer.code == 2
    assert "has no complete checkpoint" in answer.err


def test_that_what_was_found_stands_in_the_report(gpu_studio, run) -> None:
    found = Evaluation(
        checkpoint="step-00000600", split="test", metrics={"loss": 0.25, "accuracy": None},
        samples=180, seconds=0.5, device="CPU:0", time=1.0,
    )  # fmt: skip
    keep(run, found)
    assert (
        "evaluated on the test split: loss 0.2500, accuracy not a number"
        in gpu_studio("--runs-dir", run.path.parent, "runs", "show", run.id).out
    )
    document = gpu_studio("--runs-dir", run.path.parent, "runs", "show", run.id, "--json").document
    assert [each["metrics"] for each in document["evaluations"]] == [
        {"loss": 0.25, "accuracy": None}
    ]


@pytest.mark.parametrize("action", ["evaluate", "predict", "save-model"])
def test_that_help_shows_an_example(gpu_studio, action) -> None:
    answer = gpu_studio("runs", action, "--help")
    assert answer.code == 0
    assert f"gpu-studio runs {action} latest" in answer.out
    assert "--checkpoint NAME" in answer.out


@pytest.mark.parametrize(("flags", "warning"), [((), ""), (("others",), "The data are others.")])
def test_that_data_other_than_the_checkpoint_s_are_warned_of(
    gpu_studio, run, monkeypatch, flags, warning
) -> None:
    plans.save(
        plans.Plan(model=plans.ModelSettings(name="mlp"), data=plans.Data(name="digits")),
        run.plan_file,
    )
    asker = shlex.join(
        [sys.executable, fake_checkpoint_asker.__file__, *flags, "gpu_studio.trainer"]
    )
    monkeypatch.setenv(TRAINER_VARIABLE, asker)
    answer = gpu_studio("--runs-dir", run.path.parent, "runs", "evaluate", "latest")
    assert answer.code == 0
    assert answer.err == (f"warning: {warning}\n" if warning else "")
    assert (
        gpu_studio("--runs-dir", run.path.parent, "runs", "evaluate", "latest", "--json").document[
            "warning"
        ]
        == warning
    )
    assert evaluations(run)["step-00000600"].warning == warning
    assert ("warning" in run.evaluations_file.read_text()) == bool(warning)
