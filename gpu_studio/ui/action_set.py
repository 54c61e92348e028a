"""The declared actions as QActions of one window, in its menus."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QActionGroup, QKeySequence, QShortcut
from PySide6.QtWidgets import QMenu, QMenuBar

from gpu_studio.ui.action_spec import ActionSpec
from gpu_studio.ui.actions import ACTIONS
from gpu_studio.ui.theme.icons import icon

if TYPE_CHECKING:
    from gpu_studio.ui.main_window import MainWindow


class ActionSet(QObject):
    """Makes a QAction of each declared action, wires it to the window, and gives it the theme's icon."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._groups: dict[str, QActionGroup] = {}
        self._refusals: dict[str, QShortcut] = {}
        self._actions = {spec.id: self._make(spec) for spec in ACTIONS}
        window.theme.changed.connect(self._paint)
        self._paint()

    def __getitem__(self, name: str) -> QAction:
        return self._actions[name]

    def all(self) -> list[QAction]:
        """Every action, in the order of the declaration."""
        return list(self._actions.values())

    def allow(self, name: str, why_not: str = "") -> None:
        """Enable an action, or disable it and let its tooltip say why."""
        action, spec = self._actions[name], _SPECS[name]
        action.setEnabled(not why_not)
        action.setToolTip(why_not or _tip(spec))
        action.setStatusTip("")
        if name in self._refusals:
            self._refusals[name].setEnabled(bool(why_not))

    def answer_refused(self, name: str, answer: Callable[[], object]) -> None:
        """Do `answer` when the keys of this action are pressed while it is not allowed: they are never just dead."""
        keys = QShortcut(self._actions[name].shortcut(), self._window)
        keys.setEnabled(not self._actions[name].isEnabled())
        keys.activated.connect(answer)
        self._refusals[name] = keys

    def fill(self, bar: QMenuBar) -> dict[str, QMenu]:
        """Put every action in its menu, and return the menus by name."""
        menus: dict[str, QMenu] = {}
        last: dict[str, int] = {}
        for spec in ACTIONS:
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
        action.setShortcut(QKeySequence(spec.shortcut))
        action.triggered.connect(lambda: spec.handler(self._window))
        action.setCheckable(bool(spec.one_of) or spec.checkable)
        if spec.one_of:
            self._groups.setdefault(spec.one_of, QActionGroup(self)).addAction(action)
        self._window.addAction(action)
        return action

    def _paint(self) -> None:
        for name, action in self._actions.items():
            if _SPECS[name].icon:
                action.setIcon(icon(_SPECS[name].icon, self._window.theme.tokens))


_SPECS = {spec.id: spec for spec in ACTIONS}


def _menu_of(spec: ActionSpec, menus: dict[str, QMenu]) -> QMenu:
    if not spec.submenu:
        return menus[spec.menu]
    path = f"{spec.menu}/{spec.submenu}"
    if path not in menus:
        menus[path] = menus[spec.menu].addMenu(spec.submenu)
        menus[path].setToolTipsVisible(True)
    return menus[path]


def _tip(spec: ActionSpec) -> str:
    keys = QKeySequence(spec.shortcut).toString(QKeySequence.SequenceFormat.NativeText)
    return f"{spec.tip} ({keys})" if keys else spec.tip
