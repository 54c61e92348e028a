"""A row of tabs that are as wide as their words, over whatever they choose."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTabBar


def tab_bar(name: str) -> QTabBar:
    """A row without tabs yet, with no line under it; `name` is told to those who do not see it."""
    tabs = QTabBar()
    tabs.setAccessibleName(name)
    tabs.setDrawBase(False)
    tabs.setExpanding(False)
    tabs.setUsesScrollButtons(False)
    tabs.setElideMode(Qt.TextElideMode.ElideNone)
    return tabs
