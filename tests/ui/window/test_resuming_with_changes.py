"""Resuming a run with changes, and training its plan again with changes, up to the run on disk."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from made_runs import Script, make_run
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton
from real_runs import fake_trainer, train_by_hand

from gpu_studio.contract import lock
from gpu_studio.contract.directory import RunDirectory, resumed_from
from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.plan import Plan, load, save, starter
from gpu_studio.plan.edits.distribution import set_strategy
from gpu_studio.plan.edits.training import set_optimizer, set_training
from gpu_studio.runs import catalogue
from gpu_studio.runs.labels import title_of
from gpu_studio.ui.kit.basic_widgets import PrimaryButton
from gpu_studio.ui.plan.resuming import ResumingStrip
from gpu_studio.ui.window.main_window import MainWindow

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def stopped(runs, open_window) -> Callable[[], tuple[MainWindow, RunDirectory]]:
    """A window on a run that vanished in its second epoch, with a checkpoint at step 6.

    The run is selected.
    """

    def made(*flags: str) -> tuple[MainWindow, RunDirectory]:
        window = open_window(trainer=fake_trainer(*flags))
        run = RunDirectory.create(runs, "lost")
        plan = set_training(starter(window.inventory.machine), epochs=2)
        save(plan, run.plan_file)
        train_by_hand(run, "--vanish-at", "7", "--checkpoint-every", "3")
        return window, run

    return made


def select(qtbot, window: MainWindow, run: RunDirectory) -> None:
    window.show_page("runs")
    page = window.run_list.page
    qtbot.waitUntil(lambda: any(each.id == run.id for each in page.model.rows))
    page.select(run.id)
    qtbot.waitUntil(window.actions_["resume_changed"].isEnabled)


def strip(window: MainWindow) -> ResumingStrip:
    (found,) = window.plan_page.findChildren(ResumingStrip)
    return found


def test_that_a_run_goes_on_under_another_strategy_from_the_plan_page(stopped, runs, qtbot) -> None:
    window, run = stopped()
    assert strip(window).isHidden()
    select(qtbot, window, run)
    qtbot.keyClick(window, Qt.Key.Key_R, CTRL | SHIFT)
    assert window.page == "plan"
    assert strip(window).isVisible()
    assert "Resuming #1 digits on four logical CPUs from step 6" in strip(window).accessibleName()
    button = window.plan_page.findChild(PrimaryButton)
    assert (button.text(), button.accessibleName()) == ("Resume", "Resume")
    assert "Go on with #1 digits" in button.toolTip()
    assert "draw other numbers" not in strip(window).accessibleName()
    window.document.replace(set_strategy(window.document.plan, "none"), "another strategy")
    assert (
        "in 1 part now, not in 4: dropout and other random layers draw other numbers"
        in strip(window).accessibleName()
    )
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert window.page == "train"
    successor = window.shown_run.run
    assert (resumed_from(successor).run, resumed_from(successor).step) == (run.id, 6)
    assert load(successor.plan_file).distribution.strategy == "none"
    assert strip(window).isHidden()
    assert button.text() == "Train"
    qtbot.waitUntil(lambda: window.shown_run.state == "finished")


def test_that_another_optimizer_is_refused_at_its_field_before_anything_starts(
    stopped, runs, qtbot
) -> None:
    window, run = stopped()
    window.run_plans.resume_with_changes(run)
    plan = window.document.plan
    window.document.replace(set_optimizer(plan, "sgd"), "change optimizer")
    assert not window.actions_["train"].isEnabled()
    (problem,) = (each for each in window.readiness.problems if each.field == "training.optimizer")
    assert "holds the state of the run's own optimizer" in problem.advice
    assert (
        "training.optimizer"
        in window.plan_page.outlook.obstacles.views["training.optimizer 0"].accessibleName()
    )
    window.runs.train()
    assert len(catalogue.directories(runs)) == 1
    window.document.undo_stack.undo()
    assert window.actions_["train"].isEnabled()


def test_that_cancel_brings_the_plan_before_back_and_redo_the_resuming(stopped, qtbot) -> None:
    window, run = stopped()
    before = window.document.plan
    window.run_plans.resume_with_changes(run)
    window.document.replace(set_training(window.document.plan, epochs=9), "more")
    qtbot.mouseClick(strip(window).cancel, Qt.MouseButton.LeftButton)
    assert window.document.plan == before
    assert window.resuming.target is None
    assert strip(window).isHidden()
    window.document.undo_stack.redo()
    assert window.resuming.target.run == run
    assert strip(window).isVisible()


def test_that_another_plan_opened_on_top_trains_from_the_beginning(stopped, qtbot) -> None:
    window, run = stopped()
    window.run_plans.resume_with_changes(run)
    window.plan_files.take(Plan(name="something else"))
    assert window.resuming.target is None
    assert window.actions_["train"].text() == "Train"
    window.document.undo_stack.undo()
    assert window.resuming.target.run == run


def test_that_saving_the_changed_plan_keeps_the_resuming(stopped, tmp_path) -> None:
    window, run = stopped()
    window.run_plans.resume_with_changes(run)
    window.document.replace(set_training(window.document.plan, epochs=9), "more")
    assert window.plan_files.save_to(tmp_path / "more.plan.toml")
    assert window.resuming.target.run == run


def test_that_a_run_which_still_trains_or_has_no_checkpoint_says_so(open_window, runs) -> None:
    window = open_window()
    run = make_run(runs, Script(epochs=2, trained=0.5))
    window.run_plans.resume_with_changes(run)
    assert "no complete checkpoint" in window.notice.text
    held = lock.take(run.lock_file)
    window.run_plans.resume_with_changes(run)
    assert "still training" in window.notice.text
    held.release()
    assert window.resuming.target is None


def test_that_a_runs_plan_is_duplicated_under_a_new_name_and_held_against_it(
    stopped, qtbot
) -> None:
    window, run = stopped()
    select(qtbot, window, run)
    qtbot.keyClick(window, Qt.Key.Key_D, CTRL | SHIFT)
    name = load(run.plan_file).name
    assert window.document.plan.name == f"{name} (2)"
    assert window.document.path is None
    assert window.plan_page.workspace.current == "Changes"
    changes = window.plan_page.workspace.editor("Changes")
    assert [changes.model.index(row, 0).data() for row in range(changes.model.rowCount())] == [
        "name"
    ]
    assert changes.compared_text.text() == f"1 field not as in {title_of(run)}"
    assert title_of(run) != run.id
    window.run_plans.duplicate(run)
    assert window.document.plan.name == f"{name} (2)"


def test_that_a_mend_opens_the_runs_plan_with_the_change_as_one_step(stopped) -> None:
    window, run = stopped()
    window.run_plans.open_changed(
        run, SuggestedChange(text="Halve the batch: 16", field="training.batch_size", value=16)
    )
    assert window.page == "plan"
    assert window.document.plan.training.batch_size == 16
    assert window.actions_["undo"].text() == "Undo: halve the batch: 16"
    assert window.resuming.target is None, "another batch trains from the beginning"
    window.document.undo_stack.undo()
    assert window.document.plan == load(run.plan_file)


def test_that_a_mend_with_which_the_run_can_go_on_goes_on_from_its_checkpoint(stopped) -> None:
    window, run = stopped()
    window.run_plans.open_changed(
        run, SuggestedChange(text="Learn slower", field="training.learning_rate", value=0.0005)
    )
    assert window.resuming.target is not None
    assert (window.resuming.target.run, window.resuming.target.checkpoint.step) == (run, 6)
    assert window.document.plan.training.learning_rate == 0.0005
    window.document.undo_stack.undo()
    assert window.resuming.target is not None, "the plan is still the run's"
    window.document.undo_stack.undo()
    assert window.resuming.target is None


def test_that_the_strip_is_in_reach_of_the_keyboard(stopped, qtbot) -> None:
    window, run = stopped()
    window.run_plans.resume_with_changes(run)
    cancel: QAbstractButton = strip(window).cancel
    cancel.setFocus()
    qtbot.keyClick(cancel, Qt.Key.Key_Space)
    assert window.resuming.target is None
