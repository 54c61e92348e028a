"""Tabs that come and go by name, and one that is marked."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from gpu_studio.ui.train.details_card import NamedTabs


@pytest.fixture
def tabs(qtbot, theme):
    tabs = NamedTabs("tabs", theme)
    qtbot.addWidget(tabs)
    qtbot.addWidget(tabs.pages)
    for name in ("one", "two", "three"):
        tabs.add(name, QLabel(name), offered=name != "two")
    tabs.show()
    return tabs


def shown(tabs) -> str:
    return tabs.pages.currentWidget().text()


def test_that_a_tab_opens_its_own_page_whichever_others_are_offered(qtbot, tabs) -> None:
    assert (tabs.current, shown(tabs)) == ("one", "one")
    with qtbot.waitSignal(tabs.opened) as told:
        tabs.open("three")
    assert told.args == ["three"]
    assert shown(tabs) == "three"
    tabs.offer("two", True)
    tabs.open("two")
    assert shown(tabs) == "two"


def test_that_the_open_tab_that_is_taken_away_gives_way_to_another(tabs) -> None:
    tabs.open("three")
    tabs.offer("three", False)
    assert tabs.current == "one"
    assert not tabs.offers("three")


def test_that_the_arrow_keys_pass_over_what_is_not_offered(tabs) -> None:
    tabs.setFocus()
    QTest.keyClick(tabs, Qt.Key.Key_Right)
    assert tabs.current == "three"


def test_that_a_marked_tab_has_a_sign_and_words_until_it_is_well_again(tabs, theme) -> None:
    tabs.set_text("one", "one · 3 elsewhere")
    tabs.set_alarm("one", True, "three ran elsewhere")
    assert not tabs.tabIcon(0).isNull()
    assert (tabs.tabToolTip(0), tabs.text("one")) == ("three ran elsewhere", "one · 3 elsewhere")
    before = tabs.tabIcon(0).cacheKey()
    theme.set_mode("light" if theme.mode == "dark" else "dark")
    assert tabs.tabIcon(0).cacheKey() != before
    tabs.set_alarm("one", False, "")
    assert tabs.tabIcon(0).isNull()


def test_that_there_is_no_tab_of_another_name(tabs) -> None:
    with pytest.raises(ValueError, match="four"):
        tabs.open("four")


def test_that_a_tab_which_is_offered_late_and_opened_at_once_pushes_no_other_out_of_sight(
    qtbot, theme
) -> None:
    tabs, holder = NamedTabs("tabs", theme), QWidget()
    row = QHBoxLayout(holder)
    row.addWidget(tabs)
    row.addStretch(1)
    for name in ("Log", "Checkpoints", "Details"):
        tabs.add(name, QLabel(name), offered=name != "Details")
    for part in (holder, tabs.pages):
        qtbot.addWidget(part)
    holder.resize(900, 60)
    holder.show()
    tabs.offer("Details", True)
    tabs.open("Details")
    qtbot.waitUntil(lambda: tabs.tabRect(0).left() == 0)
    assert tabs.tabRect(2).right() < tabs.width()
