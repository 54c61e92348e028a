"""Rows of tabs as wide as their words; a tab with news has a mark."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QTabBar, QWidget

from gpu_studio.ui.kit.theme.manager import ThemeManager


def tab_bar(name: str) -> QTabBar:
    """A row without tabs yet, with no line under it; `name` is told to those who do not see it."""
    tabs = QTabBar()
    tabs.setAccessibleName(name)
    tabs.setDrawBase(False)
    tabs.setExpanding(False)
    tabs.setUsesScrollButtons(False)
    tabs.setElideMode(Qt.TextElideMode.ElideNone)
    return tabs


RADIUS = 3.0
_FROM_RIGHT, _FROM_TOP = 6.0, 8.0
"""Where the middle of the dot is: in the padding of its tab, so that no tab becomes wider by it."""


class MarkedTabs(QTabBar):
    """What is wrong in a tab is a dot for the eye, and words in its tooltip and its accessible
    name.
    """

    def __init__(self, name: str, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tips: dict[int, str] = {}
        self.marks: dict[int, str] = {}
        self.setAccessibleName(name)
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setUsesScrollButtons(False)
        self.setElideMode(Qt.TextElideMode.ElideNone)
        theme.changed.connect(self.update)

    def add(self, name: str, tip: str) -> None:
        """A tab after those that there are."""
        index = self.addTab(name)
        self._tips[index] = tip
        self.setTabToolTip(index, tip)

    def mark(self, index: int, words: str) -> None:
        """Mark a tab, saying what is wrong in it; without words it has no mark."""
        if self.marks.get(index, "") == words:
            return
        self.marks[index] = words
        name, tip = self.tabText(index), self._tips.get(index, "")
        self.setTabToolTip(index, f"{tip}\n{words}" if words else tip)
        self.setAccessibleTabName(index, f"{name}: {words}" if words else name)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the tabs, and the dots over them."""
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.tokens.bad))
        for index in (index for index, words in self.marks.items() if words):
            tab = self.tabRect(index)
            painter.drawEllipse(
                QPointF(tab.right() - _FROM_RIGHT, tab.top() + _FROM_TOP), RADIUS, RADIUS
            )
