"""Tabs that are known by name, so that one can come and go without the others changing their numbers."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QStackedWidget, QTabBar, QWidget

from gpu_studio.ui.theme.icons import coloured_icon
from gpu_studio.ui.theme.manager import ThemeManager


class NamedTabs(QTabBar):
    """A bar of tabs over `pages`, which stand elsewhere. `opened(name)` tells which one a person sees now.

    A name is what the tab says, unless `set_text` gives it other words.
    """

    opened = Signal(str)

    def __init__(self, name: str, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._alarms: set[str] = set()
        theme.changed.connect(self._draw_alarms)
        self.setAccessibleName(name)
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setUsesScrollButtons(False)
        self.setElideMode(Qt.TextElideMode.ElideNone)
        self.pages = QStackedWidget()
        self._names: list[str] = []
        self.currentChanged.connect(self._show)

    @property
    def current(self) -> str:
        """The name of the tab that is open."""
        return self._names[self.currentIndex()]

    def add(self, name: str, page: QWidget, *, offered: bool = True) -> None:
        """A tab after those that there are, with its page; one that is not `offered` is not seen."""
        self._names.append(name)
        self.pages.addWidget(page)
        self.addTab(name)
        self.offer(name, offered)

    def open(self, name: str) -> None:
        """Show this tab's page. Raises ValueError if there is no such tab."""
        self.setCurrentIndex(self._names.index(name))

    def offer(self, name: str, offered: bool) -> None:
        """Let the tab be seen or not; where the open one goes, its neighbour opens."""
        if self.offers(name) != offered:
            self.setTabVisible(self._names.index(name), offered)
            # Qt does not tell the layout, which would give the bar the width that it had before.
            self.updateGeometry()

    def offers(self, name: str) -> bool:
        """Whether the tab is there to be opened."""
        return self.isTabVisible(self._names.index(name))

    def text(self, name: str) -> str:
        """What stands on the tab."""
        return self.tabText(self._names.index(name))

    def set_text(self, name: str, text: str) -> None:
        """Write this on the tab."""
        if self.text(name) != text:
            self.setTabText(self._names.index(name), text)

    def set_alarm(self, name: str, on: bool, words: str) -> None:
        """Mark the tab as one where something is wrong, or not; `words` say in a tooltip what there is to say."""
        self._alarms = self._alarms | {name} if on else self._alarms - {name}
        self.setTabToolTip(self._names.index(name), words)
        self._draw_alarms()

    def _draw_alarms(self) -> None:
        sign = coloured_icon("warning", self._theme.tokens.bad)
        for index, name in enumerate(self._names):
            self.setTabIcon(index, sign if name in self._alarms else QIcon())

    def _show(self, index: int) -> None:
        if 0 <= index < len(self._names):
            self.pages.setCurrentIndex(index)
            self.opened.emit(self._names[index])
