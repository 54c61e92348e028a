"""Actions: their declarations, and all of them as QActions of one window, in its menus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QActionGroup, QKeySequence, QShortcut
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from gpu_studio.ui.kit.icons import icon
from gpu_studio.ui.kit.theme import ThemeManager

MenuName = Literal["File", "Edit", "Run", "View", "Devices", "Help"]


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One action.

    `group` separates it from its neighbours in the menu; of those with the same `one_of`, one is
    on.
    """

    id: str
    menu: MenuName
    name: str
    tip: str
    shortcut: str = ""
    icon: str = ""
    group: int = 0
    one_of: str = ""
    submenu: str = ""
    checkable: bool = False


class ActionSet(QObject):
    """Creates a QAction for each of the `specs`, with the theme's icon.

    They are inert until bound.
    """

    def __init__(self, window: QWidget, theme: ThemeManager, specs: Sequence[ActionSpec]) -> None:
        super().__init__(window)
        self._window, self._theme = window, theme
        self._specs = {spec.id: spec for spec in specs}
        self._groups: dict[str, QActionGroup] = {}
        self._refusals: dict[str, QShortcut] = {}
        self._actions = {spec.id: self._make(spec) for spec in specs}
        theme.changed.connect(self._paint)
        self._paint()

    def __getitem__(self, name: str) -> QAction:
        return self._actions[name]

    def all(self) -> list[QAction]:
        """Every action, in the order of the declaration."""
        return list(self._actions.values())

    def allow(self, name: str, why_not: str = "") -> None:
        """Enable an action, or disable it with the reason in its tooltip."""
        action, spec = self._actions[name], self._specs[name]
        action.setEnabled(not why_not)
        action.setToolTip(why_not or _tip(spec))
        action.setStatusTip("")
        if name in self._refusals:
            self._refusals[name].setEnabled(bool(why_not))

    def answer_refused(self, name: str, answer: Callable[[], object]) -> None:
        """Call `answer` when this action's keys are pressed while it is disabled.

        So no shortcut is silently dead.
        """
        keys = QShortcut(self._actions[name].shortcut(), self._window)
        keys.setEnabled(not self._actions[name].isEnabled())
        keys.activated.connect(answer)
        self._refusals[name] = keys

    def fill(self, bar: QMenuBar) -> dict[str, QMenu]:
        """Put every action in its menu, and return the menus by name."""
        menus: dict[str, QMenu] = {}
        last: dict[str, int] = {}
        for spec in self._specs.values():
            if spec.menu not in menus:
                menus[spec.menu] = bar.addMenu(f"&{spec.menu}")
                menus[spec.menu].setToolTipsVisible(True)
            if last.get(spec.menu, 0) != spec.group:
                menus[spec.menu].addSeparator()
            last[spec.menu] = spec.group
            _menu_of(spec, menus).addAction(self._actions[spec.id])
        return {name: menu for name, menu in menus.items() if "/" not in name}

    def _make(self, spec: ActionSpec) -> QAction:
        action = QAction(spec.name, self._window)
        action.setObjectName(spec.id)
        action.setToolTip(_tip(spec))
        if spec.shortcut:
            action.setShortcut(QKeySequence(spec.shortcut))
        if spec.one_of or spec.checkable:
            action.setCheckable(True)
        if spec.one_of:
            group = self._groups.setdefault(spec.one_of, QActionGroup(self))
            group.setObjectName(spec.one_of)
            group.addAction(action)
        self._window.addAction(action)
        return action

    def _paint(self) -> None:
        for name, action in self._actions.items():
            if self._specs[name].icon:
                action.setIcon(icon(self._specs[name].icon, self._theme.tokens))


def _menu_of(spec: ActionSpec, menus: dict[str, QMenu]) -> QMenu:
    if not spec.submenu:
        return menus[spec.menu]
    path = f"{spec.menu}/{spec.submenu}"
    if path not in menus:
        menus[path] = menus[spec.menu].addMenu(spec.submenu)
        menus[path].setToolTipsVisible(True)
    return menus[path]


def _tip(spec: ActionSpec) -> str:
    if not spec.shortcut:
        return spec.tip
    keys = QKeySequence(spec.shortcut).toString(QKeySequence.SequenceFormat.NativeText)
    return f"{spec.tip} ({keys})"
