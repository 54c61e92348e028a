"""The tabs of the Plan page: opened by keys, from the palette, and as they were left."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from gpu_studio.plan.edits.distribution import set_strategy
from gpu_studio.ui.kit import ThemeManager
from gpu_studio.ui.kit.settings import PLAN_TAB
from gpu_studio.ui.plan.workspace import Workspace
from gpu_studio.ui.window.actions.plan_actions import PARTS
from gpu_studio.ui.window.main_window import MainWindow

ALT, CTRL = Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def workspace(window: MainWindow) -> Workspace:
    return window.plan_page.workspace


def test_that_every_tab_has_an_action_of_its_name(workspace: Workspace) -> None:
    assert tuple(workspace.tabs.tabText(index) for index in range(workspace.tabs.count())) == PARTS


def test_that_tabs_stay_where_they_are_whichever_is_open(
    dressed: ThemeManager, workspace: Workspace
) -> None:
    tabs = workspace.tabs
    places = []
    for part in PARTS:
        workspace.open(part)
        places.append([tabs.tabRect(index).x() for index in range(tabs.count())])
    assert all(each == places[0] for each in places)


def test_that_a_tab_is_opened_by_its_key_from_any_page(
    window: MainWindow, workspace: Workspace, qtbot
) -> None:
    window.show_page("devices")
    qtbot.keyClick(window, Qt.Key.Key_4, ALT)
    assert window.page == "plan"
    assert workspace.current == "Training"


def test_that_the_key_of_a_tab_without_a_field_leads_to_no_part_beside_it(
    window: MainWindow, workspace: Workspace, qtbot
) -> None:
    window.document.replace(set_strategy(window.document.plan, "none"), "no strategy")
    qtbot.keyClick(window, Qt.Key.Key_4, ALT)
    qtbot.keyClick(window, Qt.Key.Key_5, ALT)
    assert workspace.current == "Strategy"
    focused = window.focusWidget()
    assert focused is workspace.tabs or workspace.editor("Strategy").isAncestorOf(focused)


def test_that_the_tabs_are_walked_through_by_keys_and_come_round(
    window: MainWindow, workspace: Workspace, qtbot
) -> None:
    seen = [workspace.current]
    for _ in PARTS:
        qtbot.keyClick(window, Qt.Key.Key_PageDown, CTRL)
        seen.append(workspace.current)
    assert tuple(seen) == (*PARTS, PARTS[0])
    qtbot.keyClick(window, Qt.Key.Key_PageUp, CTRL)
    assert workspace.current == PARTS[-1]


def test_that_keys_of_the_tabs_reach_them_from_within_a_field(
    window: MainWindow, workspace: Workspace, qtbot
) -> None:
    window.plan_page.training.epochs.setFocus()
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_PageDown, CTRL)
    assert workspace.current == PARTS[1]


def test_that_the_tab_that_was_open_last_is_open_again(
    window: MainWindow, workspace, open_window, qtbot
) -> None:
    workspace.open("Strategy")
    window.close()
    again: MainWindow = open_window()
    assert again.plan_page.workspace.current == "Strategy"
    qtbot.waitUntil(lambda: again.plan_page.workspace.editor("Strategy").isVisible())


def test_that_a_tab_of_that_name_there_is_none_of_is_not_missed(open_window, settings) -> None:
    settings.set(PLAN_TAB, "Wishes")
    assert open_window().plan_page.workspace.current == PARTS[0]
