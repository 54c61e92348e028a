"""An option of which one of several things holds: its menu offers them, and the pill names the one that does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.choosing.option import Option


class ChoiceOption(Option):
    """Names what is chosen, and opens a menu of what can be."""

    def __init__(self, theme: ThemeManager, tip: str, parent: QWidget | None = None) -> None:
        super().__init__("", theme, tip, parent)
        self.choices = QMenu(tip, self)
        self._group = QActionGroup(self)
        self._actions: dict[str, QAction] = {}
        self.set_menu(self.choices)

    def set_choices(self, words: Mapping[str, str], chosen: str, choose: Callable[[str], object]) -> None:
        """Offer these, by name and in words; `choose` is called with the name that a person picks."""
        for name, text in words.items():
            action = self.choices.addAction(text)
            action.setCheckable(True)
            action.triggered.connect(lambda _=False, name=name: choose(name))
            self._actions[name] = self._group.addAction(action)
        self.show_choice(chosen)

    def show_choice(self, name: str) -> None:
        """Name this as chosen; nothing is called."""
        self._actions[name].setChecked(True)
        self.set_text(self._actions[name].text())
