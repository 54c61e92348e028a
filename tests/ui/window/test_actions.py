from __future__ import annotations

from collections import Counter

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QDialog, QLabel, QMenu, QPlainTextEdit

from gpu_studio.ui.window.actions import ACTIONS
from gpu_studio.ui.window.command_palette import KEYS, NAME, CommandPalette
from gpu_studio.ui.window.main_window import MainWindow

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def palette(window: MainWindow, qtbot) -> CommandPalette:
    qtbot.keyClick(window, Qt.Key.Key_K, CTRL)
    (opened,) = window.findChildren(CommandPalette)
    return opened


def names(palette: CommandPalette) -> list[str]:
    return [
        palette.list.topLevelItem(row).text(NAME) for row in range(palette.list.topLevelItemCount())
    ]


def in_menus(window: MainWindow) -> list[QAction]:
    return [action for menu in window.menuBar().findChildren(QMenu) for action in menu.actions()]


def test_that_no_two_actions_have_one_name_or_one_shortcut() -> None:
    for what in ("id", "name"):
        assert [
            name
            for name, count in Counter(getattr(spec, what) for spec in ACTIONS).items()
            if count > 1
        ] == []
    keys = [QKeySequence(spec.shortcut).toString() for spec in ACTIONS if spec.shortcut]
    assert "" not in keys
    assert len(keys) == len(set(keys))


def test_that_every_action_has_a_tip_and_stands_in_a_menu(window: MainWindow) -> None:
    menus = in_menus(window)
    for spec in ACTIONS:
        action = window.actions_[spec.id]
        assert len(action.toolTip()) > 8
        assert action in menus


def test_that_an_action_that_cannot_be_done_says_why(window: MainWindow) -> None:
    disabled = [action for action in window.actions_.all() if not action.isEnabled()]
    assert {"pause", "stop", "open_run", "undo"} <= {action.objectName() for action in disabled}
    for action in disabled:
        assert action.toolTip() not in [spec.tip for spec in ACTIONS]


def test_that_no_widget_has_a_shortcut_beside_the_actions(window: MainWindow) -> None:
    window.show_page("train")
    window.show_page("runs")
    declared = {window.actions_[spec.id] for spec in ACTIONS}
    taken = [action.shortcut() for action in declared if not action.shortcut().isEmpty()]
    others = [action for action in window.findChildren(QAction) if action not in declared]
    assert [action.text() for action in others if action.shortcut() in taken] == []


def test_that_the_palette_lists_every_action_what_can_be_done_first(
    palette: CommandPalette, window: MainWindow
) -> None:
    assert sorted(names(palette)) == sorted(action.text() for action in window.actions_.all())
    enabled = [
        not palette.list.topLevelItem(row).isDisabled()
        for row in range(palette.list.topLevelItemCount())
    ]
    assert enabled == sorted(enabled, reverse=True)
    keys = {
        palette.list.topLevelItem(row).text(KEYS) for row in range(palette.list.topLevelItemCount())
    }
    assert "Ctrl+Return" in keys


def test_that_a_few_letters_and_return_do_it(
    palette: CommandPalette, window: MainWindow, qtbot
) -> None:
    qtbot.keyClicks(palette.search, "page dev")
    assert names(palette) == ["Devices page"]
    qtbot.keyClick(palette.search, Qt.Key.Key_Return)
    assert window.page == "devices"
    qtbot.waitUntil(lambda: window.findChildren(CommandPalette) == [])


def test_that_arrows_move_in_the_list_while_one_types(
    palette: CommandPalette, window: MainWindow, qtbot
) -> None:
    qtbot.keyClicks(palette.search, "page")
    qtbot.keyClick(palette.search, Qt.Key.Key_Down)
    assert palette.list.currentItem().text(NAME) == names(palette)[1]


def test_that_return_on_nothing_or_on_what_cannot_be_done_does_nothing(
    palette: CommandPalette, qtbot
) -> None:
    qtbot.keyClicks(palette.search, "no such action")
    qtbot.keyClick(palette.search, Qt.Key.Key_Return)
    assert palette.isVisible()
    palette.search.clear()
    qtbot.keyClicks(palette.search, "stop now")
    qtbot.keyClick(palette.search, Qt.Key.Key_Return)
    assert palette.isVisible()


def test_that_words_of_no_name_find_what_is_told_of_an_action_and_nothing_found_is_said(
    palette: CommandPalette, qtbot
) -> None:
    qtbot.keyClicks(palette.search, "theme")
    assert {"Dark colours", "Light colours"} <= set(names(palette))
    palette.search.clear()
    qtbot.keyClicks(palette.search, "xyzzy")
    assert names(palette) == ["No action has these words"]
    assert palette.list.topLevelItem(0).isDisabled()


def test_that_escape_closes_the_palette(palette: CommandPalette, window: MainWindow, qtbot) -> None:
    qtbot.keyClick(palette.search, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: window.findChildren(CommandPalette) == [])


def test_that_the_licences_are_named(window: MainWindow) -> None:
    window.actions_["about"].trigger()
    (dialog,) = window.findChildren(QDialog)
    told = " ".join(label.text() for label in dialog.findChildren(QLabel))
    for text in ("Apache License 2.0", "SIL Open Font License", "CC BY 4.0", "Version 0"):
        assert text in told
    assert dialog.findChildren(QPlainTextEdit) == []
    dialog.close()
