"""Tags and notes on the Runs page, and what is done to several runs at once."""

from __future__ import annotations

import os

import pytest
from made_runs import Script, make_run
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget
from window_pages import with_runs

from gpu_studio.runs.labels import Labels, labels_file, read_labels, write_labels
from gpu_studio.ui.runs.runs_model import RUN
from gpu_studio.ui.runs.runs_page import NameDialog, NoteDialog, TagDialog
from gpu_studio.ui.window.main_window import MainWindow

CTRL, LEFT = Qt.KeyboardModifier.ControlModifier, Qt.MouseButton.LeftButton


@pytest.fixture
def two(runs):
    script = {"ending": "completed", "epochs": 1, "trained": 1, "steps": 10}
    made = [make_run(runs, Script(name=name, **script)) for name in ("a", "b")]
    write_labels(made[0], Labels(("best", "mine"), "a note"))
    write_labels(made[1], Labels(("best",)))
    return made


@pytest.fixture
def window(open_window, two, qtbot) -> MainWindow:
    made = with_runs(open_window(), qtbot, 2)
    made.run_list.page.table.setFocus()
    return made


def opened(window: MainWindow, kind: type[QWidget]):
    (dialog,) = (each for each in window.findChildren(kind) if each.isVisible())
    return dialog


def tags(two) -> list[tuple[str, ...]]:
    return [read_labels(run).tags for run in two]


def test_that_t_gives_several_runs_tags_and_undo_takes_them_back(
    window: MainWindow, two, qtbot
) -> None:
    page = window.run_list.page
    page.select(*(run.id for run in two))
    qtbot.keyClick(page.table, Qt.Key.Key_T)
    dialog = opened(window, TagDialog)
    assert dialog.field.text() == "best"
    dialog.field.selectAll()
    qtbot.keyClicks(dialog.field, "to show, good")
    qtbot.keyClick(dialog.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: tags(two) == [("mine", "to-show", "good"), ("to-show", "good")])
    qtbot.waitUntil(lambda: all("good" in row.labels.tags for row in page.model.rows))
    assert "2 runs" in window.notice.text
    qtbot.mouseClick(window.notice.button, LEFT)
    qtbot.waitUntil(lambda: tags(two) == [("best", "mine"), ("best",)])
    qtbot.waitUntil(lambda: not any("good" in row.labels.tags for row in page.model.rows))


def test_that_n_writes_a_note_that_the_summary_shows(window: MainWindow, two, qtbot) -> None:
    page = window.run_list.page
    page.select(two[1].id)
    qtbot.keyClick(page.table, Qt.Key.Key_N)
    dialog = opened(window, NoteDialog)
    qtbot.keyClicks(dialog.field, "worth a look")
    qtbot.keyClick(dialog.field, Qt.Key.Key_Return, CTRL)
    qtbot.waitUntil(lambda: page.outcome.summary.note.text() == "worth a look")
    assert read_labels(two[1]) == Labels(("best",), "worth a look")
    assert "worth a look" in page.model.index(page.model.row_of(two[1].id), RUN).data(
        Qt.ItemDataRole.ToolTipRole
    )


def test_that_escape_leaves_everything_as_it_was(window: MainWindow, two, qtbot) -> None:
    window.run_list.page.select(two[0].id)
    window.actions_["note_runs"].trigger()
    dialog = opened(window, NoteDialog)
    assert dialog.field.toPlainText() == "a note"
    qtbot.keyClicks(dialog.field, "something else")
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not window.findChildren(NoteDialog))
    assert read_labels(two[0]).note == "a note"


def test_that_different_notes_are_not_lost_unasked(window: MainWindow, two, qtbot) -> None:
    window.run_list.page.select(*(run.id for run in two))
    window.actions_["note_runs"].trigger()
    dialog = opened(window, NoteDialog)
    assert "different notes" in dialog.field.placeholderText()
    qtbot.mouseClick(dialog.save, LEFT)
    qtbot.waitUntil(lambda: not window.findChildren(NoteDialog))
    assert read_labels(two[0]).note == "a note"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_that_a_folder_that_may_not_be_written_is_said(window: MainWindow, two, qtbot) -> None:
    two[0].path.chmod(0o500)
    check_refusal(window, two, qtbot)
    two[0].path.chmod(0o700)


def test_that_a_run_whose_labels_cannot_be_written_is_said(window: MainWindow, two, qtbot) -> None:
    labels_file(two[0]).unlink()
    labels_file(two[0]).mkdir()
    check_refusal(window, two, qtbot)


def check_refusal(window: MainWindow, two, qtbot) -> None:
    window.run_list.page.select(two[0].id)
    window.actions_["tag_runs"].trigger()
    dialog = opened(window, TagDialog)
    qtbot.keyClicks(dialog.field, ", more")
    qtbot.mouseClick(dialog.save, LEFT)
    qtbot.waitUntil(lambda: "could not be written" in window.notice.text)
    assert two[0].id in window.notice.text


def test_that_a_broken_file_is_told_and_what_is_written_takes_its_place(
    window: MainWindow, two, qtbot
) -> None:
    page = window.run_list.page
    labels_file(two[0]).write_text("{")
    page.reader.read()
    qtbot.waitUntil(lambda: any(row.labels.problem for row in page.model.rows))
    page.select(two[0].id)
    assert "cannot be read" in page.outcome.summary.note.text()
    window.actions_["tag_runs"].trigger()
    dialog = opened(window, TagDialog)
    qtbot.keyClicks(dialog.field, "again")
    qtbot.keyClick(dialog.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: read_labels(two[0]) == Labels(("again",)))


def test_that_several_runs_are_deleted_and_all_come_back(window: MainWindow, two, qtbot) -> None:
    page = window.run_list.page
    qtbot.keyClick(page.table, Qt.Key.Key_A, CTRL)
    qtbot.keyClick(page.table, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: not page.model.all)
    assert "2 runs were deleted" in window.notice.text
    qtbot.mouseClick(window.notice.button, LEFT)
    qtbot.waitUntil(lambda: len(page.model.all) == 2)


def test_that_ctrl_c_copies_the_ids(window: MainWindow, two, qtbot) -> None:
    page = window.run_list.page
    qtbot.keyClick(page.table, Qt.Key.Key_A, CTRL)
    qtbot.keyClick(page.table, Qt.Key.Key_C, CTRL)
    assert sorted(QGuiApplication.clipboard().text().split()) == sorted(run.id for run in two)


def test_that_what_is_done_to_one_run_waits_for_one(window: MainWindow, two, qtbot) -> None:
    window.run_list.page.select(*(run.id for run in two))
    assert not window.actions_["open_run"].isEnabled()
    assert "one run only" in window.actions_["open_run"].toolTip()
    assert window.actions_["tag_runs"].isEnabled()


def test_that_the_menu_of_the_table_and_of_the_page_are_one(window: MainWindow, qtbot) -> None:
    page = window.run_list.page
    names = [action.objectName() for action in page.table.actions() if not action.isSeparator()]
    assert {
        "open_run",
        "tag_runs",
        "note_runs",
        "delete_run",
        "compare_runs",
        "copy_run_ids",
    } <= set(names)
    assert page.menu.actions() == page.table.actions()
    qtbot.mouseClick(page.more, LEFT)
    assert page.menu.isVisible()
    qtbot.keyClick(page.menu, Qt.Key.Key_Escape)
    assert not page.menu.isVisible()


def test_that_a_run_is_renamed_with_f2_and_called_so_everywhere_until_it_is_undone(
    window, qtbot
) -> None:
    page = window.run_list.page
    row = page.model.rows[0]
    window.show_run(row.summary.directory)
    window.show_page("runs")
    qtbot.keyClick(page.table, Qt.Key.Key_F2)
    dialog = opened(window, NameDialog)
    qtbot.keyClicks(dialog.field, "smaller steps")
    qtbot.keyClick(dialog.field, Qt.Key.Key_Return)
    title = f"#{row.summary.number} smaller steps"
    qtbot.waitUntil(lambda: page.chosen[0].title == title)
    assert page.outcome.summary.name.text() == title
    qtbot.waitUntil(lambda: window.status_line.run_text.startswith(title))
    window.notice.button.click()
    qtbot.waitUntil(lambda: page.chosen[0].title == row.title)
    qtbot.waitUntil(lambda: window.status_line.run_text.startswith(row.title))
