from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_machines import TWO_CARDS, answering
from plan_bench import type_over
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel

from gpu_studio.plan import Data, Distribution, dumps, loads
from gpu_studio.plan.edits.training import set_training
from gpu_studio.ui.machine.live_machine import Inventory
from gpu_studio.ui.plan.plan_page import PlanPage
from gpu_studio.ui.window.main_window import MainWindow

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def page(window: MainWindow) -> PlanPage:
    return window.plan_page


def words(page: PlanPage) -> str:
    """All that the panel says of what will happen."""
    return " | ".join(label.text() for label in page.outlook.findChildren(QLabel))


def test_that_the_starter_plan_is_shown_ready_to_train(page: PlanPage, window: MainWindow) -> None:
    assert page.name.text() == "digits on four logical CPUs"
    assert page.caption.text() == "not saved yet"
    assert page.training.epochs.value() == 20
    assert page.distribution.buttons["mirrored"].isChecked()
    assert window.actions_["train"].isEnabled()
    assert loads(page.workspace.open("File").text.toPlainText()) == window.document.plan


def test_that_what_will_happen_is_told_for_each_logical_device(page: PlanPage, qtbot) -> None:
    assert set(page.outlook.rows) == {"CPU:0", "CPU:1", "CPU:2", "CPU:3"}
    assert {row.prospect.share for row in page.outlook.rows.values()} == {"16 samples"}
    assert "64 samples" in words(page)
    qtbot.waitUntil(lambda: bool(page.outlook.rows["CPU:0"].prospect.parts))
    assert "host memory, no limit" in page.outlook.rows["CPU:0"].prospect.text


def test_that_typed_epochs_reach_the_plan_and_its_text(
    page: PlanPage, window: MainWindow, qtbot
) -> None:
    type_over(page.training.epochs, "7")
    assert window.document.plan.training.epochs == 7
    assert "epochs = 7" in page.workspace.open("File").text.toPlainText()
    assert page.caption.text() == "unsaved changes"


def test_that_changes_are_undone_and_redone_by_keyboard(
    page: PlanPage, window: MainWindow, qtbot
) -> None:
    before = window.document.plan
    qtbot.mouseClick(page.distribution.buttons["one_device"], Qt.MouseButton.LeftButton)
    assert window.document.plan.distribution.strategy == "one_device"
    qtbot.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert window.document.plan == before
    assert page.distribution.buttons["mirrored"].isChecked()
    qtbot.keyClick(window, Qt.Key.Key_Z, CTRL | SHIFT)
    assert page.distribution.buttons["one_device"].isChecked()


def test_that_undo_works_while_a_field_has_the_focus(
    page: PlanPage, window: MainWindow, qtbot
) -> None:
    type_over(page.training.learning_rate, "0.5")
    assert window.document.plan.training.learning_rate == 0.5
    qtbot.keyClick(page.training.learning_rate, Qt.Key.Key_Z, CTRL)
    assert window.document.plan.training.learning_rate == 0.001
    assert page.training.learning_rate.text() == "0.001"


def test_that_a_device_is_cut_by_keyboard(page: PlanPage, window: MainWindow, qtbot) -> None:
    choice = page.devices.list.views["CPU:0"].choice
    choice.setFocus()
    qtbot.keyClick(choice, Qt.Key.Key_Up)
    assert len(window.document.plan.devices.carve[0].slices_mib) == 3
    assert "CPU:3" not in words(page)
    for _ in range(2):
        qtbot.keyClick(choice, Qt.Key.Key_Up)
    assert window.document.plan.devices.carve == ()
    assert choice.hasFocus()


def test_that_more_slices_than_are_offered_are_shown_and_can_be_changed(
    page: PlanPage, window: MainWindow
) -> None:
    window.document.switch(
        loads(dumps(window.document.plan).replace("[0, 0, 0, 0]", f"{[0] * 12}")), None, "open"
    )
    choice = page.devices.list.views["CPU:0"].choice
    assert choice.currentText() == "12 slices"
    choice.textActivated.emit("3 slices")
    assert len(window.document.plan.devices.carve[0].slices_mib) == 3


def test_that_problems_are_listed_with_field_value_and_advice_and_train_says_why(
    page: PlanPage, window: MainWindow
) -> None:
    window.document.replace(set_training(window.document.plan, epochs=0, optimizer="adm"), "spoil")
    told = words(page)
    for text in (
        "training.epochs",
        "is 0",
        "training.optimizer",
        "Did you mean adam?",
        "2 things stand in the way.",
    ):
        assert text in told
    assert not window.actions_["train"].isEnabled()
    assert "2 problems" in window.actions_["train"].toolTip()
    window.document.undo_stack.undo()
    assert window.actions_["train"].isEnabled()
    assert "in the way" not in words(page)


def test_that_a_strategy_that_does_not_run_is_refused_in_words(
    page: PlanPage, window: MainWindow
) -> None:
    plan = replace(window.document.plan, distribution=Distribution("tpu"))
    window.document.switch(plan, None, "open")
    assert page.distribution.buttons["tpu"].isChecked()
    assert "no kernels for a TPU" in words(page)
    assert not window.actions_["train"].isEnabled()


def test_that_the_name_is_changed_in_its_place(page: PlanPage, window: MainWindow, qtbot) -> None:
    type_over(page.name, "my plan")
    assert window.document.plan.name == "my plan"
    assert "my plan" in window.windowTitle()
    assert window.isWindowModified()


def test_that_the_text_is_copied(page: PlanPage, window: MainWindow, qtbot) -> None:
    qtbot.keyClick(window, Qt.Key.Key_C, CTRL | SHIFT)
    assert loads(QGuiApplication.clipboard().text()) == window.document.plan


def test_that_cards_are_cut_to_scale(open_window, qtbot) -> None:
    window = open_window(machine=TWO_CARDS)
    qtbot.waitUntil(lambda: window.document.plan is not None)
    view = window.plan_page.devices.list.views["GPU:0"]
    view.choice.setFocus()
    qtbot.keyClick(view.choice, Qt.Key.Key_Down)
    assert window.document.plan.devices.carve[0].slices_mib == (11_520, 11_520)
    assert "GPU:0 11.2 GiB, GPU:1 11.2 GiB" in view.bar.accessibleDescription()
    assert not view.bar.grab().toImage().isNull()


def test_that_a_plan_saved_by_keyboard_can_be_opened_again(
    window: MainWindow, qtbot, tmp_path: Path
) -> None:
    path = tmp_path / "mine.plan.toml"
    window.plan_files.save_to(path)
    type_over(window.plan_page.training.epochs, "9")
    qtbot.keyClick(window, Qt.Key.Key_S, CTRL)
    assert loads(path.read_text()).training.epochs == 9
    assert window.plan_page.caption.text() == "mine.plan.toml"
    assert not window.isWindowModified()


def test_that_a_file_that_is_not_there_is_a_problem_before_the_start(
    page: PlanPage, window: MainWindow, tmp_path
) -> None:
    window.document.switch(
        replace(window.document.plan, data=Data(file="gone.npz")), tmp_path / "a.plan.toml", "open"
    )
    assert "data.file" in words(page)
    assert str(tmp_path / "gone.npz") in words(page)
    assert not window.actions_["train"].isEnabled()


def test_that_nothing_of_a_plan_is_shown_before_there_is_one(qtbot, theme, runs, settings) -> None:
    window = MainWindow(
        runs, None, theme, settings=settings, inventory=Inventory(answering(TWO_CARDS))
    )
    qtbot.addWidget(window)
    window.show()
    assert not window.plan_page.training.isVisible()
    assert not window.plan_page.name.isVisible()
    assert not window.actions_["train"].isEnabled()
    window.inventory.refresh()
    qtbot.waitUntil(window.plan_page.training.isVisible)
    assert window.plan_page.name.text() == "digits on one card"
