"""Studies by the command line: made, run one after another, carried on after a kill, reported."""

from __future__ import annotations

import errno
import os
import random
import signal
import threading
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE_S
from real_runs import eventually, kill_trainers

from gpu_studio.cli.command import FAILED, INTERRUPTED, OK, REFUSED
from gpu_studio.common.practice import PRACTICE
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.plan import load
from gpu_studio.runs import study_runner
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.labels import read_labels
from gpu_studio.runs.state import is_live, terminal_event
from gpu_studio.runs.studies import note_of

STUDY = """
version = 1
name = "batches"
plan = "mine.plan.toml"
template = "batch"
repeats = 2
[[axes]]
field = "training.batch_size"
values = [16, 32]
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Look more often than for real, and record no machine beside runs that take no time."""
    monkeypatch.setattr(study_runner, "POLL_SECONDS", 0.005)
    monkeypatch.setattr(study_runner, "accompany", lambda _run: None)


@pytest.fixture
def study(plan_file, machine, trainer) -> Path:
    path = plan_file.with_name("batches.study.toml")
    path.write_text(STUDY)
    return path


def finished(runs_dir: Path) -> Counter[tuple[str, int]]:
    """How often each point and repeat was trained to its end."""
    notes = [(note_of(run), terminal_event(run)) for run in directories(runs_dir)]
    return Counter(
        (note.point, note.repeat)
        for note, ended in notes
        if note is not None and ended is not None and ended.state == "finished"
    )


def test_that_a_study_trains_every_point_and_says_what_is_best(study, gpu_studio, runs_dir):
    answer = gpu_studio("study", "run", study)
    assert answer.code == OK
    assert "4 of 4" in answer.err
    assert "samples a second" in answer.out
    assert list(finished(runs_dir).values()) == [1] * 4
    assert {read_labels(run).tags for run in directories(runs_dir)} == {("study",)}
    names = {load(run.plan_file).name for run in directories(runs_dir)}
    assert "batch size 16 · batches" in names
    again = gpu_studio("study", "run", study)
    assert (again.code, len(directories(runs_dir))) == (OK, 4)
    shown = gpu_studio("study", "show", study, "--json").document
    assert (shown["runs"], shown["done"]) == (4, 4)
    assert [len(point["samples_per_second"]) for point in shown["points"]] == [2, 2]
    assert shown["points"][0]["samples_per_second"] == pytest.approx([10_000, 10_000])
    assert shown["points"][0]["memory_bytes"] == {"CPU:0": 2 << 20}


def test_that_a_report_is_one_file_and_a_value_added_later_is_all_that_is_left(
    study, gpu_studio, tmp_path
):
    refused = gpu_studio("study", "report", study)
    assert refused.code == REFUSED
    assert "Nothing of batches has been measured yet" in refused.err
    gpu_studio("study", "run", study)
    target = tmp_path / "report.html"
    assert gpu_studio("study", "report", study, "--to", target).code == OK
    text = target.read_text()
    assert "batch size 32" in text
    assert "<svg" in text
    assert "src=" not in text
    assert gpu_studio("study", "report", study, "--to", target).code == REFUSED
    again = gpu_studio("study", "report", study, "--to", target, "--force", "--json")
    assert again.document == {"report": str(target)}
    study.write_text(STUDY.replace("32]", "32, 128]"))
    dry = gpu_studio("study", "run", study, "--dry-run")
    assert dry.out.splitlines() == ["batch size 128, repeat 1", "batch size 128, repeat 2"]


def test_that_a_value_which_the_rules_refuse_is_told_before_anything_runs(
    study, gpu_studio, runs_dir
):
    study.write_text(STUDY.replace("16", "-1"))
    answer = gpu_studio("study", "run", study)
    assert answer.code == REFUSED
    assert "1 of 2 points cannot be trained; nothing was begun:" in answer.err
    assert "batch size -1: training.batch_size is -1" in answer.err
    assert not list(directories(runs_dir))


def test_that_a_missing_plan_and_practice_cards_are_refused(study, gpu_studio, monkeypatch):
    study.write_text(STUDY.replace("mine.plan", "other.plan"))
    answer = gpu_studio("study", "run", study)
    assert answer.code == REFUSED
    assert "plan is missing at" in answer.err
    monkeypatch.setattr("gpu_studio.cli.entry.apply_machine_choice", lambda _choice: None)
    monkeypatch.setenv(PRACTICE, "2x1GiB")
    refused = gpu_studio("study", "run", study)
    assert "Practice cards compute on the CPU" in refused.err


def test_that_a_folder_in_which_nothing_can_be_written_is_told_with_what_to_do(
    study, gpu_studio, plan_file, monkeypatch
):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(study_runner.StudyRunner, "run", full)
    answer = gpu_studio("study", "run", study)
    assert answer.code == REFUSED
    assert "No space left on device. What is done is kept. Free some space there" in answer.err
    answer = gpu_studio("study", "new", "sweep", plan_file, "--to", plan_file / "a.study.toml")
    assert answer.code == REFUSED
    assert (
        "cannot be written: Not a directory. Free some space there, or name another" in answer.err
    )


def test_that_a_point_that_fails_is_told_and_not_tried_again(study, gpu_studio, trainer, runs_dir):
    trainer("--fail-at", "1")
    answer = gpu_studio("study", "run", study)
    assert answer.code == FAILED
    assert "batch size 16 could not be measured: Training broke" in answer.out or (
        "Nothing has been measured yet" in answer.out
    )
    before = len(directories(runs_dir))
    gpu_studio("study", "run", study)
    assert (before, len(directories(runs_dir))) == (4, 4)


def test_that_a_new_study_of_the_starter_plan_can_be_run_as_it_is(
    gpu_studio, machine, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    made = gpu_studio("study", "new", "scaling-strong", "--json").document
    assert (made["points"], made["runs"]) == (4, 12)
    dry = gpu_studio("study", "run", made["study"], "--dry-run")
    assert (dry.code, len(dry.out.splitlines())) == (OK, 12)


@pytest.mark.processes
def test_that_ctrl_c_keeps_what_is_done(study, gpu_studio_process, gpu_studio, trainer, runs_dir):
    trainer("--seconds-per-step", "0.1")  # so that three runs are left when it is pressed
    process = gpu_studio_process("--runs-dir", runs_dir, "study", "run", study)
    eventually(lambda: sum(finished(runs_dir).values()) >= 1, "a finished run")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == INTERRUPTED, said
    assert "Go on with: gpu-studio study run" in said
    assert not any(is_live(run) for run in directories(runs_dir))
    done = finished(runs_dir)
    trainer()
    assert gpu_studio("study", "run", study).code == OK
    assert list(finished(runs_dir).values()) == [1] * 4
    assert done.items() <= finished(runs_dir).items()


@pytest.mark.processes
def test_that_a_study_killed_at_random_moments_measures_each_point_once(
    study, gpu_studio_process, gpu_studio, trainer, runs_dir
):
    trainer("--seconds-per-step", "0.02")
    drawn, pause = random.Random(7), threading.Event()
    for number in range(2):
        process = gpu_studio_process("--runs-dir", runs_dir, "study", "run", study)
        wanted = number + 1
        eventually(lambda: len(directories(runs_dir)) >= wanted or process.poll() is not None)  # noqa: B023
        pause.wait(drawn.uniform(0, 0.3))
        process.kill()
        process.wait(PATIENCE_S)
    answer = gpu_studio("study", "run", study)
    assert answer.code == OK, answer.err
    assert list(finished(runs_dir).values()) == [1] * 4
    ended = [run for run in directories(runs_dir) if run.events_file.exists()]
    assert len(ended) == 4


@pytest.mark.processes
def test_that_two_studies_are_not_run_at_once_and_a_study_waits_for_other_runs(
    study, gpu_studio_process, gpu_studio, trainer, runs_dir, start
):
    other = start("--hold-at", "2")
    eventually(partial(is_live, other.directory))
    process = gpu_studio_process("--runs-dir", runs_dir, "study", "run", study)
    assert process.stderr is not None
    eventually(lambda: "Waits until run" in process.stderr.readline())
    refused = gpu_studio("study", "run", study)
    assert refused.code == REFUSED
    assert "Another study is being run" in refused.err
    assert [run for run in directories(runs_dir) if note_of(run)] == []
    kill_trainers(runs_dir)
    assert other.process.wait(PATIENCE_S)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == OK
    assert isinstance(other.directory, RunDirectory)


@pytest.mark.processes
def test_that_a_study_runs_in_the_background_is_listed_stopped_and_goes_on(
    study, gpu_studio, trainer, runs_dir
):
    assert "No study was made or run here yet" in gpu_studio("study", "list").err
    assert gpu_studio("study", "stop").code == REFUSED
    trainer("--hold-at", "7")
    begun = gpu_studio("study", "run", study, "--detach", "--json")
    assert begun.code == OK, begun.err
    eventually(lambda: any(is_live(run) for run in directories(runs_dir)), "a run")
    (listed,) = gpu_studio("study", "list", "--json").document
    assert (listed["file"], listed["running"], listed["done"]) == (str(study), True, 0)
    refused = gpu_studio("study", "run", study, "--detach")
    assert "being run already" in refused.err
    assert "Asked batches.study.toml to stop" in gpu_studio("study", "stop").out
    eventually(lambda: study_runner.being_run(runs_dir) is None, "the end of the study")
    assert not any(is_live(run) for run in directories(runs_dir))
    left = "4 runs are left. Go on with"  # it is said once the lock is let go
    eventually(lambda: left in study_runner.last_said(runs_dir, study), "what is left")
    trainer()
    assert gpu_studio("study", "run", study).code == OK
    assert "Batch size" in gpu_studio("study", "list").out


def test_that_a_study_in_the_background_is_refused_where_the_disk_is_full(
    study, gpu_studio, runs_dir, monkeypatch
):
    """It was told to run, ended at once, and its log had no room for the reason."""

    def is_full(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(study_runner.tempfile, "TemporaryFile", is_full)
    refused = gpu_studio("study", "run", study, "--detach")
    assert refused.code == REFUSED
    assert f"cannot be run in {runs_dir}: No space left on device" in refused.err
    assert "runs in the background" not in refused.err
    assert not study_runner.log_of(runs_dir, study).exists()


@pytest.mark.processes
def test_that_a_study_is_stopped_once_the_run_under_way_is_measured(
    study, gpu_studio, trainer, runs_dir
):
    assert gpu_studio("study", "stop", "--after-point").code == REFUSED
    go_on = runs_dir / "go on"
    trainer("--hold-at", "3", "--until", str(go_on))
    (runs_dir / study_runner.LAST_ONE).write_text("of a study before")
    assert gpu_studio("study", "run", study, "--detach").code == OK
    eventually(lambda: any(is_live(run) for run in directories(runs_dir)), "a run")
    told = gpu_studio("study", "stop", "--after-point")
    assert "to stop once the run under way is measured." in told.out
    go_on.touch()
    eventually(lambda: study_runner.being_run(runs_dir) is None, "the end of the study")
    assert list(finished(runs_dir).values()) == [1]
    assert len(directories(runs_dir)) == 1
    eventually(lambda: "Go on with" in study_runner.last_said(runs_dir, study), "what is left")
    trainer()
    assert gpu_studio("study", "run", study).code == OK
    assert list(finished(runs_dir).values()) == [1] * 4


def test_that_what_was_measured_with_other_data_is_told_and_measured_anew_if_wanted(
    study, gpu_studio, runs_dir, plan_file
):
    data = plan_file.with_name("mine.npz")
    np.savez(data, x=np.zeros((4, 2)), y=np.zeros(4))
    plan_file.write_text(plan_file.read_text().replace('name = "digits"', 'file = "mine.npz"'))
    assert gpu_studio("study", "run", study).code == OK
    np.savez(data, x=np.ones((5, 2)), y=np.zeros(5))
    told = gpu_studio("study", "run", study)
    assert "mine.npz changed since 4 runs of them read it. They still count" in told.err
    assert len(directories(runs_dir)) == 4
    assert gpu_studio("study", "run", study, "--anew").code == OK
    assert len(directories(runs_dir)) == 8
    assert "changed since" not in gpu_studio("study", "show", study).err


def test_that_a_point_that_failed_is_tried_again_if_wanted(study, gpu_studio, trainer, runs_dir):
    trainer("--fail-at", "1")
    told = gpu_studio("study", "run", study)
    assert (told.code, "No point could be measured." in told.out) == (FAILED, True)
    trainer()
    assert gpu_studio("study", "run", study, "--anew").code == OK
    assert len(directories(runs_dir)) == 8
