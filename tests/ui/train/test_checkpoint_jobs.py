"""Checkpoints evaluated and saved from the Train page, with a small process as the trainer."""

from __future__ import annotations

import sys
from pathlib import Path

import fake_checkpoint_asker
import pytest
from made_runs import Script, make_run
from PySide6.QtCore import QItemSelectionModel, QPoint, Qt
from PySide6.QtWidgets import QFileDialog

from gpu_studio.contract import lock
from gpu_studio.runs.results.evaluations import evaluations
from gpu_studio.ui.kit.table import model_as_text
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.train.checkpoints_pane import EVALUATED, LIVE, NONE_SELECTED, ONE_ONLY
from gpu_studio.ui.train.predictions_pane import in_words
from gpu_studio.ui.train.train_page import TrainPage

pytestmark = pytest.mark.processes

FOUND = "test accuracy 0.8750 · loss 0.2500"


def command(*flags: str) -> tuple[str, ...]:
    return (sys.executable, fake_checkpoint_asker.__file__, *flags)


@pytest.fixture
def run(runs_dir):
    return make_run(runs_dir, Script(trained=3, ending="stopped"))


@pytest.fixture
def page(qtbot, qapp, run):
    page = TrainPage(ThemeManager("dark"))
    qtbot.addWidget(page, before_close_func=TrainPage.close_run)
    page.resize(1196, 746)
    with qtbot.waitExposed(page):
        page.show()
    page.details.desk.jobs.command = command()
    show(qtbot, page, run)
    return page


def show(qtbot, page, run) -> None:
    page.show_run(run)
    qtbot.waitUntil(lambda: page.live_run.state is not None)
    page.details.refresh(page.live_run)
    page.details.tabs.open("Checkpoints")


def select(page, *rows: int) -> None:
    how = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
    page.details.table.clearSelection()
    for row in rows:
        page.details.table.selectionModel().select(page.details.checkpoints.index(row, 0), how)


def evaluated(page) -> list[str]:
    model = page.details.checkpoints
    return [model.index(row, EVALUATED).data() for row in range(model.rowCount())]


def test_that_a_checkpoint_is_evaluated_by_return_and_its_figures_stand_in_table_log_and_run(
    qtbot, page, run
) -> None:
    select(page, 1)
    with qtbot.waitSignal(page.details.desk.jobs.evaluated):
        qtbot.keyClick(page.details.table, Qt.Key.Key_Return)
    assert evaluated(page) == ["", FOUND, ""]
    assert page.details.log.events.toPlainText().endswith(f"step-00000400 evaluated: {FOUND}")
    assert evaluations(run)["step-00000400"].metrics == fake_checkpoint_asker.METRICS
    assert "samples of the test split, on GPU:0" in page.details.checkpoints.index(
        1, EVALUATED
    ).data(Qt.ToolTipRole)


def test_that_what_was_found_stands_there_when_the_run_is_opened_again(qtbot, page, run) -> None:
    select(page, 0)
    with qtbot.waitSignal(page.details.desk.jobs.evaluated):
        page.details.table.want("evaluate")
    show(qtbot, page, run)
    assert evaluated(page)[0] == FOUND


def test_that_several_are_evaluated_one_after_the_other_and_each_says_how_far_it_is(
    qtbot, page, run
) -> None:
    page.details.desk.jobs.command = command("hold")
    select(page, 0, 1, 2)
    page.details.table.want("evaluate")
    page.details.table.want("evaluate")
    work = page.details.table.work
    qtbot.waitUntil(lambda: work.text == "evaluating step-00000600: building the model…, 2 more")
    assert evaluated(page) == ["evaluating…", "waiting to be evaluated", "waiting to be evaluated"]
    (run.path / "go").touch()
    qtbot.waitUntil(lambda: evaluated(page) == [FOUND] * 3)
    assert (work.text, page.details.table.cancel.isVisible()) == ("", False)


def test_that_all_can_be_cancelled(qtbot, page) -> None:
    page.details.desk.jobs.command = command("hold")
    select(page, 0, 1)
    page.details.table.want("evaluate")
    qtbot.waitUntil(lambda: "building" in page.details.table.work.text)
    qtbot.mouseClick(page.details.table.cancel, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.details.desk.jobs.jobs == ())
    assert evaluated(page) == ["", "", ""]


def test_that_jobs_go_on_while_another_run_is_shown(qtbot, page, run, runs_dir) -> None:
    page.details.desk.jobs.command = command("hold")
    select(page, 0)
    page.details.table.want("evaluate")
    show(qtbot, page, make_run(runs_dir, Script(trained=2, ending="stopped")))
    assert evaluated(page) == ["", ""]
    with qtbot.waitSignal(page.details.desk.jobs.evaluated):
        (run.path / "go").touch()
    assert evaluated(page) == ["", ""]
    assert set(evaluations(run)) == {"step-00000600"}


def test_that_a_refusal_is_told_with_what_to_do(qtbot, page) -> None:
    page.details.desk.jobs.command = command("problem")
    select(page, 0)
    with qtbot.waitSignal(page.reported) as told:
        page.details.table.want("evaluate")
    text, tone = told.args
    assert text == (
        "Evaluating step-00000600 came to nothing: The checkpoint is "
        "no longer there. Choose another."
    )
    assert tone == "bad"
    assert "✘ Evaluating step-00000600" in page.details.log.events.toPlainText()


def test_that_figures_that_cannot_be_kept_are_shown_all_the_same(qtbot, page, run) -> None:
    run.evaluations_file.mkdir()
    select(page, 0)
    with qtbot.waitSignal(page.details.desk.jobs.evaluated):
        page.details.table.want("evaluate")
    assert evaluated(page)[0] == FOUND
    assert (
        "⚠ The result could not be kept beside the run: Is a directory"
        in page.details.log.events.toPlainText()
    )


def test_that_a_model_is_saved_where_the_person_says(qtbot, page, tmp_path) -> None:
    select(page, 2)
    page.details.table.menu_actions["save"].trigger()
    (dialog,) = page.findChildren(QFileDialog)
    assert Path(dialog.selectedFiles()[0]).name == "digits-on-four-devices-step-00000200.keras"
    select(page, 0)  # meanwhile another
    path = tmp_path / "mine.keras"
    with qtbot.waitSignal(page.reported) as told:
        dialog.fileSelected.emit(str(path))
    dialog.done(0)
    assert path.read_bytes() == b"model"
    assert told.args == [f"The model of step-00000200 is in {path} (5 B).", "plain"]


def test_that_the_run_can_be_gone_on_with_from_that_very_checkpoint(qtbot, page, run) -> None:
    select(page, 1)
    with qtbot.waitSignal(page.resuming) as asked:
        qtbot.mouseClick(page.details.table.buttons["resume"], Qt.MouseButton.LeftButton)
    assert asked.args == [str(run.path), "step-00000400"]


def test_that_a_folder_that_is_gone_is_told_of(qtbot, page, run) -> None:
    select(page, 0)
    (run.checkpoints / "step-00000600").rename(run.path / "elsewhere")
    with qtbot.waitSignal(page.reported) as told:
        page.details.table.want("reveal")
    assert "no longer there" in told.args[0]


def test_that_what_cannot_be_done_says_why(qtbot, page, runs_dir) -> None:
    table = page.details.table
    assert {table.why_not(name) for name in table.menu_actions} == {NONE_SELECTED}
    select(page, 0, 1)
    assert {name: table.why_not(name) for name in table.menu_actions} == {
        "resume": ONE_ONLY, "evaluate": "", "predict": ONE_ONLY,
        "save": ONE_ONLY, "reveal": ONE_ONLY,
    }  # fmt: skip
    live = make_run(runs_dir, Script(trained=2))
    held = lock.take(live.lock_file)
    try:
        show(qtbot, page, live)
        select(page, 0)
        assert table.why_not("resume") == LIVE
        assert not table.buttons["resume"].isEnabled()
        assert table.buttons["evaluate"].isEnabled()
    finally:
        held.release()


def test_that_the_menu_opens_over_what_is_selected(qtbot, page) -> None:
    table = page.details.table
    table.customContextMenuRequested.emit(QPoint(5, 5))
    assert not table.menu.isVisible()
    select(page, 0)
    table.customContextMenuRequested.emit(QPoint(5, 5))
    assert table.menu.isVisible()
    assert [action.text() for action in table.menu.actions()] == [
        "Resume from this", "Evaluate", "Predict samples", "Save as .keras…", "Reveal folder",
    ]  # fmt: skip
    table.menu.close()


def test_that_predictions_of_some_samples_open_in_a_table_with_their_pictures(
    qtbot, page, run
) -> None:
    tabs, table = page.details.tabs, page.details.predictions
    assert not tabs.offers("Predictions")
    select(page, 0)
    page.details.table.want("predict")
    qtbot.waitUntil(lambda: tabs.offers("Predictions"))
    assert tabs.current == "Predictions"
    model = table.samples
    assert model.headers == ("Sample", "Input", "digit", "digit target", "age")
    assert model_as_text(model, range(2)).splitlines()[1:] == [
        "0\t\t✔ 7 (93 %)\t7\t0.25",
        "199\t\t✘ 7 (93 %)\t1\t0.25",
    ]
    picture = model.index(0, 1).data(Qt.ItemDataRole.DecorationRole)
    assert (picture.width(), picture.height()) == (48, 48)
    assert picture.toImage().pixelColor(40, 40).lightness() == 255
    assert model.index(0, 1).data(Qt.ItemDataRole.AccessibleTextRole) == "2 × 2 × 1"
    name = page.details.checkpoints.rows[0].name
    assert in_words(table.found) == f"{name} · 2 of 200 samples of the test split · digit 1 right"
    assert not table.grab().toImage().isNull()
    earlier, later = table.steps[-1], table.steps[1]
    assert (earlier.isEnabled(), later.isEnabled()) == (True, False)
    qtbot.keyClick(table, Qt.Key.Key_Left)
    before = page.details.checkpoints.rows[1].name
    qtbot.waitUntil(lambda: table.found.checkpoint == before)
    assert tabs.current == "Predictions"
    assert table.words.text.startswith(before)
    qtbot.waitUntil(lambda: not page.details.desk.jobs.jobs)
    later.click()
    qtbot.waitUntil(lambda: table.found.checkpoint == name)
    page.show_run(run)
    qtbot.waitUntil(lambda: not tabs.offers("Predictions"))
