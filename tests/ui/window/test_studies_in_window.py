"""Studies in the real window: made of the open plan, run, stopped, turned into plans and files."""

from __future__ import annotations

import csv
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from made_studies import PLAN, made_study, write_run, write_runs
from patience import PATIENCE_S
from PySide6.QtWidgets import QCheckBox
from real_runs import fake_trainer, kill_trainers

from gpu_studio.contract import lock
from gpu_studio.lab.study import axis_of, load_study
from gpu_studio.plan import load, save
from gpu_studio.runs import study_runner
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.launch import TRAINER_VARIABLE
from gpu_studio.runs.studies import StudyRuns, judged
from gpu_studio.runs.study_runner import RUNNER_LOCK, being_run
from gpu_studio.runs.study_shelf import OpenStudy, known_files
from gpu_studio.ui.lab.study_dialog import StudyDialog
from gpu_studio.ui.plan.code_dialogs import AllowDialog
from gpu_studio.ui.window import study_control
from gpu_studio.ui.window.main_window import MainWindow


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("gpu_studio.ui.lab.studies_section.LOOK_MS", 50)
    monkeypatch.setattr("gpu_studio.ui.lab.study_dialog.SETTLE_MS", 1)
    monkeypatch.setattr(study_control, "REAP_MS", 20)


@pytest.fixture
def trainer(monkeypatch, runs) -> Iterator[Callable[..., None]]:
    """Choose what the small trainer does that studies start; what still lives is killed."""

    def behaves(*flags: str) -> None:
        monkeypatch.setenv(TRAINER_VARIABLE, shlex.join(fake_trainer(*flags)))

    behaves()
    yield behaves
    holder = lock.holder(runs / RUNNER_LOCK)
    if holder is not None:
        with suppress(ProcessLookupError):
            os.kill(holder.pid, signal.SIGKILL)
    kill_trainers(runs)


@pytest.fixture
def opened(tmp_path, runs) -> OpenStudy:
    """A study of four devices of which every run is done."""
    made = made_study(tmp_path)
    write_runs(runs, made)
    return made


@pytest.fixture
def showing(open_window, qtbot) -> Callable[..., MainWindow]:
    """Open the window with a study on the Lab page."""

    def shown(study: OpenStudy, plan: Path | None = None) -> MainWindow:
        window = open_window(plan)
        window.studies.show_study(study.path)
        wait_for(qtbot, window, study.path)
        return window

    return shown


def wait_for(qtbot, window: MainWindow, path: Path) -> None:
    def is_shown() -> bool:
        seen = window.studies.snapshot
        return seen is not None and seen.path == path and seen.opened is not None

    qtbot.waitUntil(is_shown)


def dialog_of(window: MainWindow, qtbot) -> StudyDialog:
    (dialog,) = (each for each in window.findChildren(StudyDialog) if each.isVisible())
    qtbot.waitUntil(lambda: dialog.run_button.isEnabled() or dialog.wrong.isVisible())
    return dialog


def test_that_a_scaling_study_of_the_open_plan_is_made_listed_and_shown(
    open_window, qtbot, tmp_path, runs
):
    plan = tmp_path / "digits.plan.toml"
    save(PLAN, plan)
    window = open_window(plan)
    window.services.actions["new_study_scaling-strong"].trigger()
    dialog = dialog_of(window, qtbot)
    assert dialog.outlook.text().startswith("4 points, 12 runs. How long that takes is known after")
    assert dialog.path == tmp_path / "digits-scaling-strong.study.toml"
    dialog.findChildren(QCheckBox)[3].click()
    dialog.repeats.edited.emit(dialog.repeats.value())
    qtbot.waitUntil(lambda: dialog.outlook.text().startswith("3 points, 9 runs"))
    dialog.save_button.click()
    path = tmp_path / "digits-scaling-strong.study.toml"
    wait_for(qtbot, window, path)
    assert window.page == "lab"
    study = load_study(path)
    assert (study.plan, len(study.axes[0].choices)) == ("digits.plan.toml", 3)
    assert known_files(runs) == [path]
    assert directories(runs) == []


def test_that_a_plan_with_unsaved_changes_is_written_beside_its_study(window, qtbot, tmp_path):
    window.services.actions["new_study_sweep"].trigger()
    dialog = dialog_of(window, qtbot)
    assert len(dialog.editors) == 2
    dialog.editors[0].values.setText("0.1, 0.2")
    dialog.editors[1].remove.click()
    dialog.add_axis.click()
    dialog.editors[1].field.setText("training.optimizer")
    dialog.editors[1].values.setText("adam, sgd")
    dialog.file.setText(str(tmp_path / "mine"))
    qtbot.waitUntil(lambda: dialog.outlook.text().startswith("4 points, 4 runs"))
    dialog.save_button.click()
    wait_for(qtbot, window, tmp_path / "mine.study.toml")
    study = load_study(tmp_path / "mine.study.toml")
    assert [axis.name for axis in study.axes] == ["training.learning_rate", "training.optimizer"]
    assert load(tmp_path / study.plan).name == window.document.plan.name


def test_that_a_new_study_takes_no_file_that_is_there(window, qtbot, tmp_path):
    there = tmp_path / "mine.study.toml"
    there.write_text("of somebody")
    window.services.actions["new_study_sweep"].trigger()
    dialog = dialog_of(window, qtbot)
    dialog.file.setText(str(there))
    qtbot.waitUntil(dialog.save_button.isEnabled)
    dialog.save_button.click()
    assert dialog.isVisible()
    assert dialog.wrong.text() == f"There is a file {there} already, which is kept: name another."
    assert there.read_text() == "of somebody"
    dialog.close()


def test_that_what_the_rules_refuse_is_told_in_the_dialog_and_cannot_be_saved(window, qtbot):
    window.services.actions["new_study_batch"].trigger()
    dialog = dialog_of(window, qtbot)
    dialog.editors[0].values.setText("16, -1")
    qtbot.waitUntil(lambda: "training.batch_size is -1" in dialog.wrong.text())
    assert not dialog.run_button.isEnabled()
    dialog.editors[0].values.setText("[16")
    qtbot.waitUntil(lambda: "commas between them" in dialog.wrong.text())
    dialog.search.show_value("random")
    dialog.editors[0].values.setText("16, 32")
    dialog.budget.show_value(1)
    qtbot.waitUntil(lambda: dialog.outlook.text().startswith("1 point, 3 runs"))
    assert dialog.save_button.isEnabled()
    dialog.close()


def test_that_a_study_without_runs_is_edited_and_one_with_runs_is_not(
    showing, qtbot, tmp_path, runs
):
    study = made_study(tmp_path, "batch")
    window = showing(study)
    assert window.services.actions["edit_study"].isEnabled()
    window.services.actions["edit_study"].trigger()
    dialog = dialog_of(window, qtbot)
    assert dialog.file.isReadOnly()
    dialog.editors[0].values.setText("8")
    qtbot.waitUntil(lambda: dialog.outlook.text().startswith("1 point"))
    dialog.save_button.click()
    qtbot.waitUntil(lambda: window.studies.snapshot.total == 3)
    assert load_study(study.path).plan == "digits.plan.toml"
    write_run(runs, window.studies.snapshot.opened, window.studies.snapshot.opened.points[0])
    qtbot.waitUntil(lambda: not window.services.actions["edit_study"].isEnabled())
    assert "It has runs" in window.services.actions["edit_study"].toolTip()


def test_that_the_verdicts_plan_is_opened_and_undone(showing, opened, qtbot):
    window = showing(opened, opened.plan_file)
    button = window.studies.section.view.plan_button
    assert button.text() == "Plan with four devices"
    button.click()
    assert window.page == "plan"
    plan = window.document.plan
    assert (plan.distribution.strategy, len(plan.distribution.devices)) == ("mirrored", 4)
    assert (plan.training.epochs, window.document.path) == (3, opened.plan_file)
    window.document.undo_stack.undo()
    assert window.document.plan == PLAN


def test_that_the_plan_of_another_file_is_opened_first(showing, opened, qtbot):
    window = showing(opened)
    window.services.actions["study_plan"].trigger()
    qtbot.waitUntil(lambda: window.document.path == opened.plan_file)
    assert len(window.document.plan.distribution.devices) == 4
    window.document.undo_stack.undo()
    assert window.document.plan == PLAN


def test_that_the_runs_of_a_study_alone_are_shown(showing, opened, qtbot, runs, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    write_runs(runs, made_study(other, "batch"), most=2)
    window = showing(opened)
    window.services.actions["study_runs"].trigger()
    assert window.page == "runs"
    page = window.run_list.page
    qtbot.waitUntil(lambda: len(page.model.all) == 14 and len(page.model.rows) == 12)


def test_that_report_picture_and_points_are_written_to_files(showing, opened, qtbot, tmp_path):
    window = showing(opened)
    for kind in ("html", "png", "svg", "csv"):
        target = tmp_path / f"out.{kind}"
        window.study_files.write(kind, target)
        qtbot.waitUntil(target.exists)
    assert "Four devices: 2.9 times as fast" in (tmp_path / "out.html").read_text()
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.reader((tmp_path / "out.csv").read_text().splitlines()))
    assert rows[0][:3] == ["point", "x", "repeat"]
    assert len(rows) == 13
    assert float(rows[1][4]) == pytest.approx(0.01)


def test_that_a_study_is_taken_off_the_list_and_put_back(showing, opened, qtbot):
    window = showing(opened)
    window.services.actions["forget_study"].trigger()
    qtbot.waitUntil(lambda: window.studies.snapshot is None)
    assert opened.path.exists()
    window.notice.button.click()
    wait_for(qtbot, window, opened.path)


def test_that_what_cannot_be_done_says_why(showing, tmp_path):
    window = showing(made_study(tmp_path))
    actions = window.services.actions
    for name, why in {
        "stop_study": "No study is being run",
        "study_plan": "Nothing of it has been measured yet",
        "study_runs": "It has no runs yet",
        "report_study": "Nothing of it has been measured yet",
    }.items():
        assert not actions[name].isEnabled()
        assert why in actions[name].toolTip()
    assert actions["run_study"].isEnabled()


def test_that_a_study_whose_data_is_gone_is_refused_before_anything_runs(
    showing, qtbot, tmp_path, runs
):
    study = made_study(tmp_path, "batch")
    window = showing(study)
    save(replace(PLAN, data=replace(PLAN.data, name=None, file="gone.npz")), study.plan_file)
    qtbot.waitUntil(lambda: window.studies.snapshot.opened.plan.data.file == "gone.npz")
    window.services.actions["run_study"].trigger()
    qtbot.waitUntil(lambda: window.notice.isVisible())
    assert window.notice.accessibleName().startswith("Nothing was begun. ")
    assert "gone.npz" in window.notice.accessibleName()
    assert directories(runs) == []


@pytest.mark.processes
def test_that_a_study_runs_survives_the_window_is_stopped_and_goes_on(
    showing, open_window, qtbot, tmp_path, runs, trainer
):
    study = made_study(tmp_path, "batch", repeats=1)
    window = showing(study)
    trainer("--hold-at", "3")
    window.services.actions["run_study"].trigger()
    qtbot.waitUntil(lambda: window.studies.snapshot.live is not None)
    words = window.studies.section.view.progress  # a run gets its number once it has begun
    qtbot.waitUntil(lambda: "0 of 6 runs · #1 " in words.text())
    assert being_run(runs) == study.path
    ((process, _),) = window.studies.processes
    window.close()
    assert process.poll() is None
    again = showing(study)
    qtbot.waitUntil(lambda: again.services.actions["stop_study"].isEnabled())
    again.services.actions["stop_study"].trigger()
    process.wait(PATIENCE_S)
    qtbot.waitUntil(lambda: again.services.actions["run_study"].isEnabled())
    assert again.studies.section.run_button.text() == "Run"
    trainer()
    again.services.actions["run_study"].trigger()
    qtbot.waitUntil(lambda: again.studies.snapshot.done == 6)
    qtbot.waitUntil(lambda: not again.studies.processes)
    assert again.notice.accessibleName() == "digits.study.toml is done."
    assert again.studies.section.view.headline.text().startswith("Batch size")


@pytest.mark.processes
def test_that_a_study_just_started_cannot_be_started_twice_and_is_soon_seen_to_run(
    showing, qtbot, tmp_path, trainer, monkeypatch
):
    monkeypatch.setattr("gpu_studio.ui.lab.studies_section.LOOK_MS", 500)
    idle_ms = 10**6  # it would not be looked again while this test waits
    monkeypatch.setattr("gpu_studio.ui.lab.studies_section.IDLE_TIMES", idle_ms // 500)
    study = made_study(tmp_path, "batch", repeats=1)
    window = showing(study)
    assert window.studies.section.pause_ms == idle_ms
    trainer("--hold-at", "3")
    window.studies.start(study.path)
    assert not window.services.actions["run_study"].isEnabled()
    qtbot.waitUntil(lambda: window.studies.snapshot.live is not None)
    assert window.studies.section.pause_ms == 500
    qtbot.waitUntil(lambda: window.services.actions["stop_study"].isEnabled())
    window.services.actions["stop_study"].trigger()
    qtbot.waitUntil(lambda: not window.studies.processes)
    qtbot.waitUntil(lambda: window.services.actions["run_study"].isEnabled())
    qtbot.waitUntil(lambda: window.studies.section.pause_ms == idle_ms)


def test_that_a_study_of_hundreds_of_points_is_started(showing, qtbot, tmp_path, monkeypatch):
    many = axis_of("training.batch_size", [*range(1, 401)])
    study, started = made_study(tmp_path, "batch", repeats=1, axes=(many,)), []
    window = showing(study)
    monkeypatch.setattr(window.studies, "start", started.append)
    window.services.actions["run_study"].trigger()
    qtbot.waitUntil(lambda: bool(started))
    assert started == [study.path]


@pytest.mark.processes
def test_that_the_desktop_is_told_the_verdict_of_now_though_the_page_is_hidden(
    showing, qtbot, tmp_path, runs, monkeypatch
):
    study, told = made_study(tmp_path), []
    window = showing(study)
    window.services.actions["page_plan"].trigger()
    monkeypatch.setattr(window.run_ends, "tell_of_study", lambda *words: told.append(words))
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        monkeypatch.setattr(study_runner, "start_detached", lambda *_: process)
        window.studies.start(study.path)
        qtbot.waitUntil(lambda: not window.studies.section.is_looking)
        write_runs(runs, study)
    qtbot.waitUntil(lambda: bool(told))
    ((title, words),) = told
    assert title == "Study digits.study.toml"
    assert words == judged(StudyRuns.read(runs, study.study, study.points)).headline


@pytest.mark.processes
def test_that_a_study_that_failed_is_measured_anew_by_one_press(
    showing, qtbot, tmp_path, runs, trainer
):
    axes = (axis_of("training.batch_size", [16]),)
    study = made_study(tmp_path, "batch", repeats=1, axes=axes)
    write_run(runs, study, study.points[0], failed="The disk was full.")
    window = showing(study)
    view = window.studies.section.view
    assert view.headline.text() == "No point could be measured."
    assert "The disk was full." in view.why.text()
    assert view.changed_note.text == "1 run of this study failed."
    view.changed_note.button.click()
    qtbot.waitUntil(lambda: window.studies.snapshot.verdict.chosen != "")
    qtbot.waitUntil(lambda: not window.studies.processes)
    assert view.changed_note.text == ""
    assert len(directories(runs)) == 2


@pytest.mark.processes
def test_that_own_python_runs_only_once_it_is_allowed(showing, qtbot, tmp_path, runs, trainer):
    (tmp_path / "models.py").write_text("def build(): ...\n")
    plan = replace(PLAN, model=replace(PLAN.model, name=None, python="models.py:build"))
    axes = (axis_of("training.batch_size", [16]),)
    study = made_study(tmp_path, "batch", plan, repeats=1, axes=axes)
    window = showing(study)
    window.services.actions["run_study"].trigger()
    qtbot.waitUntil(lambda: window.findChild(AllowDialog) is not None)
    assert directories(runs) == []
    assert being_run(runs) is None
    window.findChild(AllowDialog).file.click()
    qtbot.waitUntil(lambda: window.studies.snapshot.done == 1)
    qtbot.waitUntil(lambda: not window.studies.processes)
