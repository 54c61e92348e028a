"""Closing the window over work on checkpoints: what is asked, and what each answer does."""

from __future__ import annotations

import sys

import fake_checkpoint_asker
import pytest
from made_runs import Script, make_run
from PySide6.QtCore import Qt

from gpu_studio.runs.results.evaluations import evaluations
from gpu_studio.ui.kit.dialogs import Question
from gpu_studio.ui.train.checkpoints_desk import FinishingDialog
from gpu_studio.ui.window.quitting import UNASKED


@pytest.fixture
def working(open_window, runs, qtbot):
    """A window in which a checkpoint is evaluated until the test lets go of it; and its run."""
    run = make_run(runs, Script(epochs=3, trained=3, ending="completed"))
    window = open_window()
    window.show_run(run)
    qtbot.waitUntil(lambda: window.train_page.details.checkpoints.rowCount() == 3)
    jobs = window.train_page.details.desk.jobs
    jobs.command = (sys.executable, fake_checkpoint_asker.__file__, "hold")
    window.train_page.details.table.selectRow(0)
    window.train_page.details.table.want("evaluate")
    assert jobs.jobs
    yield window, run
    jobs.close()


def test_that_work_on_a_checkpoint_is_asked_about_and_can_be_finished_first(working, qtbot) -> None:
    window, run = working
    assert not window.close()
    assert not window.close()
    (asked,) = window.findChildren(Question)
    assert asked.accessibleName() == "A checkpoint is still being evaluated"
    assert list(asked.buttons) == ["Finish first", "Give up", "Cancel"]
    qtbot.keyClick(asked, Qt.Key.Key_Return)
    (finishing,) = window.findChildren(FinishingDialog)
    assert finishing.line.text().startswith("Evaluating step-00000600: ")
    assert window.isVisible()
    (run.path / "go").touch()
    qtbot.waitUntil(lambda: not window.isVisible())
    assert list(evaluations(run)) == ["step-00000600"]


def test_that_work_on_a_checkpoint_can_be_given_up_or_be_gone_on_with(working, qtbot) -> None:
    window, _ = working
    window.close()
    (asked,) = window.findChildren(Question)
    qtbot.mouseClick(asked.buttons["Cancel"], Qt.MouseButton.LeftButton)
    assert window.isVisible()
    assert window.checkpoint_jobs.jobs
    qtbot.waitUntil(lambda: not window.findChildren(Question))
    window.close()
    (asked,) = window.findChildren(Question)
    qtbot.mouseClick(asked.buttons["Give up"], Qt.MouseButton.LeftButton)
    assert not window.isVisible()
    assert not window.checkpoint_jobs.jobs


def test_that_a_window_stays_where_the_work_that_it_waits_for_comes_to_nothing(
    working, qtbot
) -> None:
    window, _ = working
    window.close()
    (asked,) = window.findChildren(Question)
    qtbot.mouseClick(asked.buttons["Finish first"], Qt.MouseButton.LeftButton)
    (finishing,) = window.findChildren(FinishingDialog)
    job = window.checkpoint_jobs.current
    window.checkpoint_jobs.refused.emit(job, "the disk is full.")
    assert not finishing.isVisible()
    assert window.isVisible()
    assert "came to nothing: the disk is full." in window.notice.text


def test_that_the_end_of_the_session_asks_nothing_about_work_on_checkpoints_either(
    working, qapp
) -> None:
    window, _ = working
    qapp.setProperty(UNASKED, True)
    try:
        assert window.close()
    finally:
        qapp.setProperty(UNASKED, None)
