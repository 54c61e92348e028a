"""Messages lie over the pages, go by themselves, and give the focus back."""

from __future__ import annotations

from pathlib import Path

import pytest
from edited_part import click
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton

from gpu_studio.plan import Plan, save
from gpu_studio.plan.edits.training import set_training
from gpu_studio.ui.kit.notice import OFFERED_MS, SHOWN_MS, Notice
from gpu_studio.ui.window.main_window import MainWindow

CTRL, ALT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier


@pytest.fixture
def notice(window: MainWindow, qtbot) -> Notice:
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)  # in another window's sight nothing goes by itself
    return window.notice


def enter(notice: Notice) -> None:
    here = QPointF(5, 5)
    QApplication.sendEvent(notice, QEnterEvent(here, here, here))


def test_that_a_message_lies_over_the_page_which_does_not_move(
    window: MainWindow, notice: Notice, qtbot
) -> None:
    before = window.plan_page.outlook.geometry()
    notice.say("A short one.")
    low = notice.height()
    assert window.plan_page.outlook.geometry() == before
    over = window.plan_page.mapTo(window, window.plan_page.rect().bottomRight())
    corner = notice.mapTo(window, notice.rect().bottomRight())
    assert 0 < over.x() - corner.x() < 40
    assert 0 < over.y() - corner.y() < 40
    notice.say("A long one. " * 30)
    assert notice.height() > 2 * low
    window.resize(1024, 680)
    qtbot.waitUntil(
        lambda: window.rect().contains(notice.mapTo(window, notice.rect().bottomRight()))
    )


def test_that_what_was_said_before_the_window_was_seen_goes_by_itself_too(
    window: MainWindow, notice: Notice
) -> None:
    window.hide()
    notice.say("Said at the start.")
    assert notice.leaves_in is None
    window.show()
    assert notice.leaves_in == SHOWN_MS


def test_that_it_goes_by_itself_but_not_under_the_pointer_or_with_the_focus(
    notice: Notice, qtbot
) -> None:
    notice.say("Something was copied.")
    assert notice.leaves_in == SHOWN_MS
    enter(notice)
    assert notice.leaves_in is None
    QApplication.sendEvent(notice, QEvent(QEvent.Type.Leave))
    assert notice.leaves_in == SHOWN_MS
    notice.take_focus()
    qtbot.waitUntil(lambda: notice.leaves_in is None)
    notice.say("It was deleted.", label="Undo", action=list, stays=True)
    assert notice.leaves_in is None
    notice.hide()
    notice.say("It was written.", label="Open", action=list)
    assert notice.leaves_in == OFFERED_MS
    notice._clock.setInterval(1)
    qtbot.waitUntil(notice.isHidden)
    assert notice.text == "It was written."


def test_that_what_is_wrong_stays_although_the_message_before_it_would_have_gone(
    notice: Notice, qtbot
) -> None:
    notice.say("Something was copied.")
    notice.say("Something went wrong.", "bad")
    assert notice.leaves_in is None
    QApplication.processEvents()
    assert notice.isVisible()


def test_that_it_never_lies_over_what_has_the_focus(
    window: MainWindow, notice: Notice, qtbot
) -> None:
    notice.say("A long one. " * 12, "bad")
    usual = notice.geometry()
    field = QLineEdit(notice.parentWidget())
    field.setGeometry(usual)
    field.show()
    field.setFocus()
    qtbot.waitUntil(lambda: not notice.geometry().intersects(usual))
    window.setFocus()
    qtbot.waitUntil(lambda: notice.geometry() == usual)


def test_that_it_leaves_a_page_s_buttons_free_where_all_below_them_has_the_focus(
    window: MainWindow, notice: Notice, qtbot
) -> None:
    notice.say("#1 digits has started.")
    usual, pages = notice.geometry(), notice.parentWidget()
    compare = window.run_list.page.compare
    window.show_page("runs")
    field = QLineEdit(pages)
    field.setGeometry(pages.rect().adjusted(0, usual.height() + 60, 0, 0))
    field.show()
    field.setFocus()
    qtbot.waitUntil(lambda: not notice.geometry().intersects(field.geometry()))
    place = QRect(compare.mapTo(pages, QPoint(0, 0)), compare.size())
    assert not notice.geometry().intersects(place)


def test_that_it_lies_over_no_button_where_another_corner_has_none(
    window: MainWindow, notice: Notice, qtbot
) -> None:
    window.show_page("runs")
    page = window.run_list.page
    notice.say("#1 digits has started.")
    usual = notice.geometry()
    button = QPushButton("Measure", page)
    button.setGeometry(QRect(page.mapFrom(notice.parentWidget(), usual.center()), QSize(40, 20)))
    button.show()
    place = QRect(button.mapTo(notice.parentWidget(), QPoint(0, 0)), button.size())
    window.show_page("devices")
    window.show_page("runs")
    assert not notice.geometry().intersects(place)
    button.setEnabled(False)
    notice.say("#3 digits has started.")
    assert notice.geometry() == usual


def test_that_what_went_wrong_stays_until_it_is_settled(
    window: MainWindow, notice: Notice, tmp_path: Path
) -> None:
    window.plan_files.save_to(tmp_path / "none" / "a.plan.toml")
    assert "could not be saved" in notice.text
    assert notice.leaves_in is None
    window.plan_files.save_to(tmp_path / "a.plan.toml")
    assert notice.isHidden()
    window.plan_files.failed.emit("Again.")
    save(Plan(name="other"), tmp_path / "other.plan.toml")
    window.plan_files.open(tmp_path / "other.plan.toml")
    assert notice.isHidden()
    notice.say("Of something else.", "bad")
    window.plan_files.save_to(tmp_path / "a.plan.toml")
    assert notice.isVisible()


def test_that_why_a_plan_is_not_trained_goes_once_it_can_be(
    window: MainWindow, notice: Notice, qtbot
) -> None:
    window.document.replace(set_training(window.document.plan, epochs=0), "spoil")
    qtbot.keyClick(window, Qt.Key.Key_Return, CTRL)
    assert "training.epochs is 0" in notice.text
    assert notice.isVisible()
    window.document.undo_stack.undo()
    assert notice.isHidden()


def test_that_it_is_reached_by_a_key_closed_by_another_and_the_focus_goes_back(
    window: MainWindow, notice: Notice, qtbot
) -> None:
    field = window.plan_page.training.batch_size
    field.setFocus()
    notice.say("Written.", label="Open", action=list)
    qtbot.keyClick(window, Qt.Key.Key_F6)
    assert notice.isAncestorOf(QApplication.focusWidget())
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert notice.isHidden()
    assert window.focusWidget() is field
    notice.say("Written again.", label="Open", action=list)
    click(qtbot, notice.close_button)
    assert window.focusWidget() is field
    window.setFocus()
    notice.say("And again.", "bad")
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert notice.isHidden()


def test_that_another_page_never_puts_the_caret_into_the_plan_s_name(
    window: MainWindow, qtbot
) -> None:
    field = window.plan_page.training.learning_rate
    field.setFocus()
    qtbot.keyClick(window, Qt.Key.Key_1, CTRL)
    assert window.focusWidget() is window
    qtbot.keyClick(window, Qt.Key.Key_2, CTRL)
    assert window.focusWidget() is field
    assert field.selectedText() == ""


@pytest.mark.parametrize("number", range(1, 9))
def test_that_the_key_of_a_part_leads_into_it(window: MainWindow, number: int, qtbot) -> None:
    qtbot.waitUntil(lambda: not window.facts.asking and window.facts.facts is not None)
    qtbot.keyClick(window, Qt.Key(Qt.Key.Key_0 + number), ALT)
    editor = window.plan_page.workspace.editor(window.plan_page.workspace.current)
    focused = window.focusWidget()
    assert editor.isAncestorOf(focused), focused
    assert not (isinstance(focused, QLineEdit) and focused.selectedText())
