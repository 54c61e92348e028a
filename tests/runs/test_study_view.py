"""What is seen of studies while they run: which are known, their points, verdicts and changes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from made_studies import PLAN, made_study, write_run, write_runs

from gpu_studio.contract import lock
from gpu_studio.plan import PlanError
from gpu_studio.runs import study_view
from gpu_studio.runs.studies import NotedRuns, StudyRuns, figures_of
from gpu_studio.runs.study_runner import RUNNER_LOCK, being_run, stop_running
from gpu_studio.runs.study_shelf import folder_of, forget, known_files, open_study, remember
from gpu_studio.runs.study_view import StudyDesk


def test_that_studies_are_known_by_their_files_the_last_first_until_they_are_forgotten(
    runs_dir, tmp_path
):
    assert known_files(runs_dir) == []
    one, two = tmp_path / "one.study.toml", tmp_path / "two.study.toml"
    remember(runs_dir, one)
    remember(runs_dir, two)
    assert known_files(runs_dir) == [two, one]
    remember(runs_dir, one)
    assert known_files(runs_dir) == [one, two]
    assert folder_of(runs_dir).stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder_of(runs_dir).iterdir())
    forget(runs_dir, one)
    assert known_files(runs_dir) == [two]


def test_that_a_study_whose_runs_lie_here_is_known_by_them(runs_dir, tmp_path):
    opened = made_study(tmp_path)
    write_runs(runs_dir, opened, most=1)
    (seen,) = StudyDesk(runs_dir).look()
    assert (seen.path, seen.name, seen.done, seen.total) == (
        opened.path, "Scaling of digits, strong", 1, 12,
    )  # fmt: skip
    forget(runs_dir, opened.path)
    assert StudyDesk(runs_dir).look() == []


def test_that_a_finished_study_has_its_verdict_its_times_and_no_time_left(runs_dir, tmp_path):
    opened = made_study(tmp_path)
    write_runs(runs_dir, opened)
    (seen,) = StudyDesk(runs_dir).look()
    assert (seen.done, seen.total, seen.progress) == (12, 12, "12 of 12 runs")
    assert seen.verdict.headline.startswith("Four devices: 2.9 times as fast as one device.")
    assert seen.verdict.chosen == "4 devices"
    assert seen.seconds_left is None
    assert seen.seconds_taken == pytest.approx(
        sum(each.seconds for each in seen.runs if each.seconds)
    )
    assert seen.groups[0].label == "1 device"
    assert set(seen.groups[0].shares) == {"input", "computing or idle"}
    assert set(seen.groups[3].shares) == {"computing", "communication", "input", "idle"}


def test_that_what_has_not_changed_is_the_same_object_and_a_new_run_is_seen(runs_dir, tmp_path):
    opened = made_study(tmp_path)
    desk = StudyDesk(runs_dir)
    (before,) = desk.look(opened.path)
    assert before.done == 0
    assert before.verdict.headline == "Nothing has been measured yet."
    assert desk.look(opened.path) == [before]
    write_runs(runs_dir, opened, most=2)
    (after,) = desk.look(opened.path)
    assert (after.done, after.seconds_left is not None) == (2, True)
    assert desk.look(opened.path)[0] is after


def test_that_a_run_that_trains_is_told_with_its_epoch(runs_dir, tmp_path):
    opened = made_study(tmp_path)
    run = write_run(runs_dir, opened, opened.points[1], ended=False)
    held = lock.take(run.lock_file)
    (seen,) = StudyDesk(runs_dir).look()
    held.release()
    assert seen.live is not None
    assert (seen.live.label, seen.live.epoch, seen.live.run.id) == ("2 devices", 3, run.id)
    assert [each.state for each in seen.runs].count("running") == 1
    assert seen.progress == "0 of 12 runs · running"


def test_that_a_run_that_was_killed_counts_for_nothing(runs_dir, tmp_path):
    opened = made_study(tmp_path)
    write_run(runs_dir, opened, opened.points[1], ended=False)
    (seen,) = StudyDesk(runs_dir).look()
    assert (seen.done, seen.live, {each.state for each in seen.runs}) == (0, None, {"waiting"})


def test_that_a_point_that_failed_says_why(runs_dir, tmp_path):
    opened = made_study(tmp_path)
    write_run(runs_dir, opened, opened.points[0], failed="Out of memory on GPU:0.")
    (seen,) = StudyDesk(runs_dir).look()
    assert [each.why for each in seen.failed] == ["Out of memory on GPU:0."]
    assert seen.groups[0].failed == "Out of memory on GPU:0."


def test_that_a_file_that_cannot_be_read_says_why_and_is_read_again_once_mended(runs_dir, tmp_path):
    path = tmp_path / "mine.study.toml"
    desk = StudyDesk(runs_dir)
    (seen,) = desk.look(path)
    assert "missing" in seen.problem
    assert seen.progress == "cannot be read"
    path.write_text("version = 1\nname = 'x'\nplan = 'gone.plan.toml'\nspeed = 1\n")
    assert "not a key of a study" in desk.look(path)[0].problem
    opened = made_study(tmp_path)
    assert desk.look(opened.path)[0].problem == ""
    opened.plan_file.unlink()
    assert "plan is missing at" in desk.look(opened.path)[0].problem


def test_that_the_runs_of_changed_data_still_count_and_are_told_until_they_are_set_aside(
    runs_dir, tmp_path
):
    data = tmp_path / "mine.npz"
    data.write_bytes(b"one")
    plan = replace(PLAN, data=replace(PLAN.data, name=None, file="mine.npz"))
    opened = made_study(tmp_path, plan=plan)
    write_runs(runs_dir, opened, most=3)
    desk = StudyDesk(runs_dir)
    assert desk.look()[0].stale == 0
    data.write_bytes(b"others")
    (seen,) = desk.look()
    assert (seen.done, seen.stale, seen.changed) == (3, 3, "mine.npz")
    assert desk.measure_anew(seen) == 3
    (after,) = desk.look(opened.path)
    assert (after.done, after.stale) == (0, 0)


def test_that_own_code_is_known_by_its_content_and_not_by_its_time(runs_dir, tmp_path):
    code = tmp_path / "models.py"
    code.write_text("import helper\ndef build(): ...\n")
    (tmp_path / "helper.py").write_text("WIDE = 1\n")
    plan = replace(PLAN, model=replace(PLAN.model, name=None, python="models.py:build"))
    opened = made_study(tmp_path, plan=plan)
    write_runs(runs_dir, opened, most=1)
    noted = NotedRuns(runs_dir)
    code.write_text(code.read_text())
    assert StudyRuns.read(noted, opened.study, opened.points).changed == []
    (tmp_path / "helper.py").write_text("WIDE = 2\n")
    (stale,) = StudyRuns.read(noted, opened.study, opened.points).changed
    assert [Path(path).name for path in stale.changed] == ["helper.py"]


def test_that_it_is_known_which_study_is_run_and_nobody_else_is_stopped(runs_dir):
    assert being_run(runs_dir) is None
    assert stop_running(runs_dir) == ""
    runs_dir.mkdir(parents=True, exist_ok=True)
    held = lock.take(runs_dir / RUNNER_LOCK)
    held.leave_word("/somewhere/mine.study.toml")
    assert being_run(runs_dir) == Path("/somewhere/mine.study.toml")
    held.sign(1)  # a forged signature: the process with this number holds nothing here
    assert "does not run the study" in stop_running(runs_dir) or "another user" in stop_running(
        runs_dir
    )
    held.release()
    assert being_run(runs_dir) is None


def test_that_a_study_of_a_missing_plan_cannot_be_opened(tmp_path):
    opened = made_study(tmp_path)
    opened.plan_file.unlink()
    with pytest.raises(PlanError, match="missing at"):
        open_study(opened.path)


def test_that_a_run_whose_last_loss_is_no_number_has_none_and_not_that_of_an_earlier_epoch(
    runs_dir, tmp_path
):
    opened = made_study(tmp_path, "batch")
    run = write_run(runs_dir, opened, opened.points[0])
    assert figures_of(run).loss is not None
    lines = [*map(json.loads, run.events_file.read_text().splitlines())]
    last = [each for each in lines if "samples_per_second" in each][-1]
    last["metrics"] = dict.fromkeys(last["metrics"])
    run.events_file.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    found = figures_of(run)
    assert (found.loss, found.failed) == (None, "")
    assert found.rate is not None


@pytest.mark.parametrize("bad", ["/" + "a" * 5000, "/a\0b", "~nobody/x", "/dev/zero"])
def test_that_a_study_at_an_impossible_place_hides_no_other(runs_dir, tmp_path, bad):
    opened = made_study(tmp_path, "batch")
    remember(runs_dir, opened.path)
    note = folder_of(runs_dir) / "0.known.json"
    note.write_text(json.dumps({"path": bad}))
    found = StudyDesk(runs_dir).look()
    assert [each.problem == "" for each in found] == [True, False]


ODD = {
    "steps": {"seconds": 5e-324, "samples": -5, "input_seconds": 1e308},
    "communication": {"seconds": 1e-300, "input_seconds": -1e308},
    "epoch": {"metrics": {"val_loss": -1e308}},
    "finished": {"seconds": 1e308},
    "memory": {"devices": [{"device": "CPU:0", "current": 1, "peak": -5, "source": "allocator"}]},
}


@pytest.mark.parametrize("template", ["scaling-strong", "scaling-weak", "strategies", "sweep"])
def test_that_numbers_of_no_machine_are_not_counted(runs_dir, tmp_path, template):
    """They ended what judges, with it the list of all studies, and were no JSON."""
    opened = made_study(tmp_path, template)
    for run in write_runs(runs_dir, opened):
        lines = [*map(json.loads, run.events_file.read_text().splitlines())]
        for each in lines:
            each |= ODD.get(each["event"], {})
        run.events_file.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    found = figures_of(run)
    assert (found.rate, found.loss, found.memory, found.shares) == (None, None, {}, {})
    (seen,) = StudyDesk(runs_dir).look()
    assert (seen.problem, seen.seconds_each) == ("", None)


def test_that_a_study_that_cannot_be_judged_hides_no_other(runs_dir, tmp_path, monkeypatch):
    opened = made_study(tmp_path, "batch")
    remember(runs_dir, opened.path)
    monkeypatch.setattr(study_view, "judged", lambda *_: 1 / 0)
    (seen,) = StudyDesk(runs_dir).look()
    assert seen.problem == "It cannot be judged: ZeroDivisionError: division by zero"
