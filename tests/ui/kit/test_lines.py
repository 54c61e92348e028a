"""A field for several texts, each on a line of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from gpu_studio.ui.kit.fields import Lines


@pytest.fixture
def lines(qtbot: QtBot) -> Iterator[Lines]:
    """The field in a window, with the keyboard."""
    window = QWidget()
    qtbot.addWidget(window)
    field = Lines("setup", window)
    QVBoxLayout(window).addWidget(field)
    window.show()
    window.activateWindow()
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    yield field
    window.close()


def test_that_each_line_is_a_text_and_an_empty_one_is_none(qtbot: QtBot, lines: Lines) -> None:
    told: list[tuple[str, ...]] = []
    lines.edited.connect(told.append)
    qtbot.keyClicks(lines, "a, b\r\r c\r")
    assert told[-1] == ("a, b", " c")
    lines.show_value(told[-1])
    assert lines.toPlainText() == "a, b\n\n c\n", "what is typed stays"
    count = len(told)
    lines.show_value(("d",))
    assert (lines.toPlainText(), len(told)) == ("d", count), "it tells of the person's edits only"


@pytest.mark.parametrize("key", [QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo])
def test_that_undo_is_the_windows(
    qtbot: QtBot, lines: Lines, key: QKeySequence.StandardKey
) -> None:
    qtbot.keyClicks(lines, "a")
    asked = QKeySequence(key)[0]
    shortcut = QShortcut(QKeySequence(key), lines.window())
    with qtbot.waitSignal(shortcut.activated):
        qtbot.keyClick(lines, asked.key(), asked.keyboardModifiers())
    assert lines.toPlainText() == "a"


def test_that_tab_leaves_it(qtbot: QtBot, lines: Lines) -> None:
    other = Lines("flags")
    lines.window().layout().addWidget(other)
    qtbot.waitUntil(other.isVisible)
    qtbot.keyClick(lines, Qt.Key.Key_Tab)
    qtbot.waitUntil(other.hasFocus)
    assert lines.toPlainText() == ""
