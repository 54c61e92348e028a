"""A word of the guide says what it means where the pointer rests on it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QLabel,
    QToolTip,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gpu_studio.common.guide import definitions, guide, words_in
from gpu_studio.plan import Plan
from gpu_studio.ui.window.main_window import MainWindow

WORDS = (
    *("slice", "replica", "all-reduce", "stage"),
    *("micro-batch", "bubble", "soft placement", "slot"),
)


@pytest.fixture(autouse=True)
def no_tip_stays():
    yield
    QToolTip.hideText()


def rest_on(widget: QWidget, qtbot, place: QPoint | None = None) -> str:
    """Let the pointer rest on a widget: the tooltip that is shown, or an empty text."""
    QToolTip.hideText()
    qtbot.waitUntil(lambda: not QToolTip.isVisible())
    at = place or widget.rect().center()
    event = QHelpEvent(QEvent.Type.ToolTip, QPoint(at), widget.mapToGlobal(at))
    QApplication.sendEvent(widget, event)
    return QToolTip.text().replace("\n", " ") if QToolTip.isVisible() else ""


def label(window: MainWindow, text: str) -> QLabel:
    return next(each for each in window.findChildren(QLabel) if text in each.text())


@pytest.mark.parametrize("word", WORDS)
def test_that_each_word_of_the_trade_has_a_definition_of_a_few_sentences(word):
    said = definitions()[word]
    assert words_in(f"Two {word}s, or one {word.upper()}") == [word]
    assert 1 <= said.count(". ") + 1 <= 4
    section = guide().section(f"concepts#{word.replace(' ', '-')}")
    assert said.split(".")[0] in section.text.replace("\n", " ")


def test_that_a_word_inside_of_another_is_none():
    assert words_in("a microbatch, the backstage, slotted, sliced") == []
    assert words_in("logical devices") == ["logical device"]


def test_that_words_on_the_screen_say_what_they_mean(open_window, qtbot) -> None:
    window = open_window()
    qtbot.waitUntil(lambda: window.document.plan is not None)
    window.document.replace(Plan(name="a plan"), "begin")
    window.show_page("plan")
    shown = QLabel("each replica has a slot", window)
    shown.setGeometry(200, 200, 300, 30)
    shown.show()
    said = rest_on(shown, qtbot)
    assert definitions()["replica"] in said
    assert definitions()["slot"] in said
    shown.setText("plain words")
    assert rest_on(shown, qtbot) == ""
    shown.setText("each replica")
    shown.setToolTip("a tip of its own")
    assert rest_on(shown, qtbot) == "a tip of its own"


def test_that_words_in_a_dialog_and_in_a_table_say_what_they_mean_too(open_window, qtbot) -> None:
    window = open_window()
    dialog = QDialog(window)
    column = QVBoxLayout(dialog)
    said, table = QLabel("each replica"), QTreeWidget()
    table.setHeaderLabels(["bubble"])
    table.addTopLevelItem(QTreeWidgetItem(["two slices"]))
    for part in (said, table):
        column.addWidget(part)
    dialog.show()
    assert definitions()["replica"] in rest_on(said, qtbot)
    first = table.visualItemRect(table.topLevelItem(0)).center()
    assert definitions()["slice"] in rest_on(table.viewport(), qtbot, first)
    assert definitions()["bubble"] in rest_on(table.header().viewport(), qtbot)
    dialog.close()
