"""A broken plan file opens for repair: its text, with the errors at its lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from edited_part import click
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QMenu

from gpu_studio.plan import Plan, load, save
from gpu_studio.plan.edits.training import set_training
from gpu_studio.ui.kit.dialogs import Question
from gpu_studio.ui.window import draft_keeper
from gpu_studio.ui.window.main_window import MainWindow

CTRL = Qt.KeyboardModifier.ControlModifier
WRONG = 'name = "mended" # mine\n\n[training]\nepoch = 3\nseed = "one"\n'


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.plan.toml"
    path.write_text(WRONG)
    return path


@pytest.fixture
def pane(window: MainWindow, wrong: Path) -> Any:
    window.plan_files.change_to(wrong)
    return window.plan_page.mending


def write_over(pane: Any, old: str, new: str) -> None:
    cursor: QTextCursor = pane.text.document().find(old)
    cursor.insertText(new)


def test_that_its_text_is_shown_with_what_is_wrong_at_its_lines_and_the_open_plan_stays(
    window: MainWindow, pane: Any, wrong: Path, qtbot
) -> None:
    assert window.plan_page.workspace.current == "File"
    assert pane.isVisible()
    assert pane.written == WRONG
    told = [pane.list.item(row).text() for row in range(pane.list.count())]
    assert told[0].startswith("line 4: training.epoch is ")
    assert told[1].startswith("line 5: training.seed is ")
    assert [mark.cursor.blockNumber() + 1 for mark in pane.text.extraSelections()] == [4, 5]
    assert pane.text.textCursor().blockNumber() + 1 == 4
    pane.list.setCurrentRow(1)
    qtbot.keyClick(pane.list, Qt.Key.Key_Return)
    assert pane.text.textCursor().blockNumber() + 1 == 5
    assert window.document.plan.name == "digits on four logical CPUs"
    assert window.document.path is None
    assert "wrong.plan.toml cannot be used" in window.notice.text
    assert window.notice.isVisible()
    qtbot.keyClick(pane, Qt.Key.Key_Escape)
    assert not pane.isVisible()
    assert window.notice.isHidden()
    assert wrong.read_text() == WRONG


def test_that_the_smallest_window_says_in_full_that_it_is_broken_and_the_open_plan_unsaved(
    window: MainWindow, pane: Any, wrong: Path, qtbot
) -> None:
    window.document.replace(set_training(window.document.plan, epochs=7), "change epochs")
    window.resize(window.minimumSize())
    qtbot.waitUntil(lambda: window.plan_page.caption.shown == "unsaved")
    pane.show_file(wrong.with_name(f"{'long-' * 9}name.plan.toml"), WRONG, None)
    assert pane.words.shown == f"{pane.list.count()} problems."
    write_over(pane, "epoch =", "epochs =")
    write_over(pane, '"one"', "1")
    assert pane.words.shown == "A plan now."


def test_that_it_is_opened_once_it_is_a_plan_and_keeps_what_a_person_wrote(
    window: MainWindow, pane: Any, wrong: Path, qtbot
) -> None:
    write_over(pane, "epoch =", "epochs =")
    assert not pane.open.isEnabled()
    qtbot.keyClick(pane.text, Qt.Key.Key_S, CTRL)
    assert "no plan yet" in window.notice.text
    assert wrong.read_text() == WRONG
    write_over(pane, '"one"', "1")
    assert pane.list.isHidden()
    qtbot.keyClick(pane.text, Qt.Key.Key_S, CTRL)
    assert wrong.read_text() == WRONG.replace("epoch =", "epochs =").replace('"one"', "1")
    assert window.document.path == wrong
    assert window.document.plan == load(wrong)
    assert not pane.isVisible()
    assert window.notice.isHidden()
    assert "# mine" in window.plan_page.workspace.editor("File").written


def test_that_what_is_no_plan_is_written_only_where_a_person_says_so(
    window: MainWindow, pane: Any, wrong: Path, qtbot
) -> None:
    assert not pane.save.isEnabled()
    write_over(pane, '"one"', "1")
    qtbot.keyClick(pane, Qt.Key.Key_Escape)
    (question,) = window.findChildren(Question)
    click(qtbot, question.buttons["Cancel"])
    assert pane.isVisible()
    click(qtbot, pane.save)
    assert wrong.read_text() == WRONG.replace('"one"', "1")
    assert not pane.isVisible()
    assert window.document.path is None


def test_that_a_file_which_another_program_has_changed_meanwhile_is_not_written_over(
    window: MainWindow, pane: Any, wrong: Path, qtbot
) -> None:
    write_over(pane, '"one"', "1")
    wrong.write_text("theirs")
    click(qtbot, pane.save)
    assert wrong.read_text() == "theirs"
    assert "another program has changed it" in window.notice.text
    assert pane.isVisible()


def test_that_nobody_is_asked_to_leave_his_changes_for_a_file_that_cannot_be_opened(
    window: MainWindow, wrong: Path, tmp_path: Path
) -> None:
    window.document.replace(set_training(window.document.plan, epochs=99), "change epochs")
    window.plan_files.change_to(wrong)
    assert window.findChildren(Question) == []
    assert window.plan_page.is_repairing
    assert window.document.plan.training.epochs == 99
    window.plan_files.change_to(tmp_path / "none.plan.toml")
    assert "missing" in window.notice.text
    save(Plan(name="other"), tmp_path / "other.plan.toml")
    window.plan_files.change_to(tmp_path / "other.plan.toml")
    assert len(window.findChildren(Question)) == 1


def test_that_a_broken_plan_which_the_window_is_started_with_opens_for_repair(
    open_window, wrong: Path, qtbot
) -> None:
    window: MainWindow = open_window(wrong)
    qtbot.waitUntil(lambda: window.plan_page.is_repairing)
    assert window.plan_page.mending.written == WRONG


def unsaved(window: MainWindow) -> list[Any]:
    menu = next(each for each in window.findChildren(QMenu) if each.title() == "Open recent")
    menu.aboutToShow.emit()
    return [action for action in menu.actions() if action.text().startswith("Unsaved: ")]


def kept(window: MainWindow, qtbot, pane: Any, old: str, new: str) -> None:
    with qtbot.waitSignal(window.repairs.kept.written):
        write_over(pane, old, new)


@pytest.fixture
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_keeper, "WAIT_MS", 1)


@pytest.mark.usefixtures("_soon")
def test_that_what_is_written_comes_back_at_the_next_start_and_undo_takes_it_away(
    open_window, wrong: Path, qtbot
) -> None:
    window: MainWindow = open_window(wrong)
    kept(window, qtbot, window.plan_page.mending, '"one"', "1")
    window.close()
    again: MainWindow = open_window()
    pane = again.plan_page.mending
    assert again.plan_page.is_repairing
    assert pane.written == WRONG.replace('"one"', "1")
    assert pane.list.item(0).text().startswith("line 4: training.epoch is ")
    assert "line 5" not in pane.list.item(1).text()
    pane.text.undo()
    assert pane.written == WRONG
    pane.text.redo()
    wrong.write_text("theirs")
    click(qtbot, pane.save)
    assert wrong.read_text() == "theirs"
    assert "another program has changed it" in again.notice.text


@pytest.mark.usefixtures("_soon")
def test_that_what_was_saved_or_left_on_purpose_does_not_come_back(
    window: MainWindow, pane: Any, qtbot
) -> None:
    kept(window, qtbot, pane, '"one"', "1")
    qtbot.keyClick(pane, Qt.Key.Key_Escape)
    (question,) = window.findChildren(Question)
    click(qtbot, question.buttons["Leave it"])
    assert window.repairs.kept.last is None
    assert unsaved(window) == []


@pytest.mark.usefixtures("_soon")
def test_that_the_text_of_one_file_is_not_lost_when_another_is_mended(
    window: MainWindow, pane: Any, wrong: Path, tmp_path: Path, qtbot
) -> None:
    write_over(pane, '"one"', "1")  # not waited for: what opens another file writes it down
    other = tmp_path / "other.plan.toml"
    other.write_text("epoch")
    window.plan_files.change_to(other)
    assert (pane.path, pane.written) == (other, "epoch")
    [action] = unsaved(window)
    assert "wrong.plan.toml" in action.text()
    action.trigger()
    assert (pane.path, pane.written) == (wrong, WRONG.replace('"one"', "1"))
    pane.text.undo()
    window.repairs.kept.write()
    assert unsaved(window) == []


def test_that_a_start_with_another_plan_is_not_disturbed_by_it(
    open_window, wrong: Path, tmp_path: Path
) -> None:
    window: MainWindow = open_window(wrong)
    write_over(window.plan_page.mending, '"one"', "1")
    window.close()
    save(Plan(name="other"), tmp_path / "other.plan.toml")
    between: MainWindow = open_window(tmp_path / "other.plan.toml")
    assert not between.plan_page.is_repairing
    assert len(unsaved(between)) == 1
    between.close()
    once_more: MainWindow = open_window(wrong)
    assert once_more.plan_page.mending.written == WRONG.replace('"one"', "1")
