"""What happens to changes that are in no file when another plan is opened."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from gpu_studio.plan import Plan, load, save
from gpu_studio.plan.edits.training import set_training
from gpu_studio.ui.kit.dialogs import Question
from gpu_studio.ui.window.main_window import MainWindow

KEPT = Plan(name="kept")
OTHER = Plan(name="other")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    save(OTHER, tmp_path / "other.plan.toml")
    return tmp_path / "other.plan.toml"


@pytest.fixture
def window(open_window, tmp_path: Path) -> MainWindow:
    save(KEPT, tmp_path / "kept.plan.toml")
    made: MainWindow = open_window(tmp_path / "kept.plan.toml")
    return made


def change(window: MainWindow) -> None:
    window.document.replace(set_training(window.document.plan, epochs=99), "change epochs")


def asked(window: MainWindow) -> Question:
    (question,) = window.findChildren(Question)
    return question


def test_that_a_plan_with_nothing_unsaved_is_left_without_a_question(
    window: MainWindow, other: Path
) -> None:
    window.plan_files.change_to(other)
    assert window.document.plan == OTHER
    assert window.findChildren(Question) == []


def test_that_save_saves_first(window: MainWindow, other: Path, qtbot) -> None:
    change(window)
    window.plan_files.change_to(other)
    assert window.document.plan.name == "kept"
    qtbot.keyClick(asked(window).buttons["Save"], Qt.Key.Key_Return)
    assert window.document.plan == OTHER
    assert load(other.with_name("kept.plan.toml")).training.epochs == 99


def test_that_a_plan_that_cannot_be_saved_is_not_left(window: MainWindow, other: Path) -> None:
    kept = other.with_name("kept.plan.toml")
    kept.unlink()
    kept.mkdir()
    change(window)
    window.plan_files.change_to(other)
    asked(window).buttons["Save"].click()
    assert window.document.plan.name == "kept"
    assert "could not be saved" in window.notice.text


def test_that_changes_not_saved_come_back_by_undo(window: MainWindow, other: Path) -> None:
    change(window)
    window.plan_files.change_to(other)
    asked(window).buttons["Don’t save"].click()
    assert window.document.plan == OTHER
    window.document.undo_stack.undo()
    assert window.document.plan.training.epochs == 99


@pytest.mark.parametrize("how", ["escape", "cancel"])
def test_that_nothing_happens_if_one_thinks_better_of_it(
    window: MainWindow, other: Path, qtbot, how: str
) -> None:
    change(window)
    window.plan_files.change_to(other)
    question = asked(window)
    if how == "escape":
        qtbot.keyClick(question, Qt.Key.Key_Escape)
    else:
        question.buttons["Cancel"].click()
    assert window.document.plan.training.epochs == 99
    qtbot.waitUntil(lambda: window.findChildren(Question) == [])


def test_that_each_template_is_a_new_plan(window: MainWindow) -> None:
    window.actions_["new_central_storage"].trigger()
    assert window.document.plan.distribution.strategy == "central_storage"
    assert window.document.path is None
