"""A plan's file that another program changes.

Read again where nothing was edited, never overwritten unseen.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from gpu_studio.plan import Plan, load, save
from gpu_studio.plan.edits.training import set_training
from gpu_studio.ui.kit.dialogs import Question
from gpu_studio.ui.window.disk_changes import DiskStrip
from gpu_studio.ui.window.main_window import MainWindow


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "plans" / "mine.plan.toml"
    made.parent.mkdir()
    save(Plan(name="mine"), made)
    return made


@pytest.fixture
def window(open_window, path: Path) -> MainWindow:
    made: MainWindow = open_window(path)
    return made


def edited_elsewhere(path: Path, *, batch_size: int = 7) -> None:
    """As an editor saves: a new file in the place of the old one."""
    aside = path.with_suffix(".new")
    aside.write_text(
        f"# by hand\n{path.read_text()}".replace("batch_size = 32", f"batch_size = {batch_size}")
    )
    aside.replace(path)


def edit_here(window: MainWindow) -> None:
    window.document.replace(set_training(window.document.plan, epochs=99), "change epochs")


def strip(window: MainWindow) -> DiskStrip:
    [found] = window.findChildren(DiskStrip)
    return found


def asked(window: MainWindow) -> Question:
    [question] = window.findChildren(Question)
    return question


def conflict(window: MainWindow, path: Path, qtbot) -> None:
    edit_here(window)
    edited_elsewhere(path)
    qtbot.waitUntil(lambda: strip(window).isVisible())


def test_that_a_change_is_read_by_itself_where_nothing_was_edited_here(window, path, qtbot) -> None:
    edited_elsewhere(path)
    qtbot.waitUntil(lambda: window.document.plan.training.batch_size == 7)
    assert not window.document.dirty
    assert window.document.text.startswith("# by hand")
    assert "read again" in window.notice.text
    edited_elsewhere(path.with_name(path.name), batch_size=7)
    path.write_text(path.read_text().replace("batch_size = 7", "batch_size = 8"))
    qtbot.waitUntil(lambda: window.document.plan.training.batch_size == 8)
    window.document.undo_stack.undo()
    assert window.document.plan.training.batch_size == 7
    assert window.document.dirty


def test_that_half_typed_text_is_not_replaced_by_a_change_of_the_file(window, path, qtbot) -> None:
    tab = window.plan_page.workspace.open("File")
    tab.text.selectAll()
    tab.text.insertPlainText("name = ")
    edited_elsewhere(path)
    qtbot.waitUntil(lambda: strip(window).isVisible())
    assert (tab.written, window.plan_files.disk.conflict) == ("name = ", "changed")
    strip(window).keep.click()
    assert tab.written == window.document.half_typed == "name = "


def test_that_a_byte_order_mark_does_not_make_a_file_no_plan(window, path) -> None:
    path.write_bytes(
        b"\xef\xbb\xbf" + path.read_bytes().replace(b"batch_size = 32", b"batch_size = 7")
    )
    window.plan_files.disk.look()
    assert window.plan_files.disk.conflict == ""
    assert window.document.plan.training.batch_size == 7


def test_that_saving_over_a_change_that_nobody_saw_asks_first(window, path, qtbot) -> None:
    edit_here(window)
    edited_elsewhere(path)
    qtbot.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert asked(window).windowTitle() == "Replace the changed file?"
    assert load(path).training.batch_size == 7
    qtbot.keyClick(asked(window).buttons["Compare"], Qt.Key.Key_Return)
    assert window.plan_page.workspace.current == "Changes"
    assert load(path).training.batch_size == 7
    qtbot.waitUntil(lambda: window.findChildren(Question) == [])
    window.plan_files.save()
    asked(window).buttons["Replace it"].click()
    assert (load(path).training.batch_size, load(path).training.epochs) == (32, 99)
    assert not strip(window).isVisible()
    changes = window.plan_page.workspace.editor("Changes")
    assert changes.compared_text.text() == "The same as mine.plan.toml, its file"


def test_that_the_file_can_be_read_again_and_undo_brings_the_edits_back(
    window, path, qtbot
) -> None:
    conflict(window, path, qtbot)
    assert "changed by another program" in strip(window).words.text()
    window.notice.say("Something else.")
    strip(window).read_again.setFocus()
    strip(window).read_again.click()
    # A message that had the focus would stay for ever.
    assert window.focusWidget() is window
    assert (window.document.plan.training.batch_size, window.document.dirty) == (7, False)
    assert not strip(window).isVisible()
    window.document.undo_stack.undo()
    assert (window.document.plan.training.epochs, window.document.dirty) == (99, True)


def test_that_one_s_own_can_be_kept_and_is_saved_without_a_question_then(
    window, path, qtbot
) -> None:
    conflict(window, path, qtbot)
    strip(window).keep.click()
    assert not strip(window).isVisible()
    assert window.document.dirty
    window.plan_files.save()
    assert window.findChildren(Question) == []
    assert load(path).training.epochs == 99


def test_that_a_file_which_became_no_plan_is_told_and_kept_until_one_decides(
    window, path, qtbot
) -> None:
    path.write_text("[training]\nepochs = ")
    qtbot.waitUntil(lambda: strip(window).isVisible())
    assert "no plan that can be read now" in strip(window).words.text()
    assert not strip(window).read_again.isVisible()
    window.plan_files.save()
    asked(window).buttons["Replace it"].click()
    assert load(path).name == "mine"


@pytest.mark.parametrize(
    "content", ['name = "café"\n# notes'.encode("latin-1"), b"#" * 2**21], ids=["latin-1", "large"]
)
def test_that_a_file_which_became_unreadable_is_not_called_gone_nor_replaced_unseen(
    window, path, qtbot, content
) -> None:
    edit_here(window)
    path.write_bytes(content)
    qtbot.waitUntil(lambda: strip(window).isVisible())
    assert "is no plan that can be read now" in strip(window).words.text()
    window.plan_files.save()
    assert asked(window).windowTitle() == "Replace the changed file?"
    assert path.read_bytes() == content
    asked(window).buttons["Cancel"].click()
    strip(window).keep.click()
    assert not strip(window).isVisible()
    window.plan_files.save()
    assert load(path).training.epochs == 99


def test_that_a_file_which_is_gone_is_told_and_saved_anew(window, path, qtbot) -> None:
    path.unlink()
    qtbot.waitUntil(lambda: strip(window).isVisible())
    assert "no longer there" in strip(window).words.text()
    window.plan_files.save()
    assert load(path).name == "mine"
    assert not strip(window).isVisible()


def test_that_a_folder_in_the_place_of_the_file_is_not_said_to_be_replaced(
    window, path, qtbot
) -> None:
    path.unlink()
    path.mkdir()
    qtbot.waitUntil(lambda: strip(window).isVisible())
    assert strip(window).words.text().startswith("mine.plan.toml is a folder now.")
    window.plan_files.save()
    assert window.findChildren(Question) == []
    assert "could not be saved" in window.notice.text


def test_that_a_folder_that_was_moved_away_is_told_until_it_is_put_back(
    window, path, qtbot
) -> None:
    edit_here(window)
    away = path.parent.rename(path.parent.with_name("away"))
    window.plan_files.disk.look()
    assert strip(window).isVisible()
    assert "The folder of mine.plan.toml is no longer there" in strip(window).words.text()
    assert "Save the plan to another place" in strip(window).words.text()
    away.rename(path.parent)
    qtbot.waitUntil(lambda: not strip(window).isVisible())


def test_that_the_window_s_own_saving_is_no_change_by_another(window, path, qtbot) -> None:
    edit_here(window)
    window.plan_files.save()
    window.plan_files.disk.look()
    assert window.plan_files.disk.conflict == ""
    assert window.document.undo_stack.count() == 1
