"""Buttons of which one is chosen, also those that cannot be: they can be reached, and say why not."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QWidget

from gpu_studio.ui.theme.manager import ThemeManager


class Choosable(QAbstractButton):
    """A button that can be chosen unless `why_not` says why it cannot. One that a plan has chosen stays chosen."""

    def __init__(self, name: str, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._why_not = ""
        self.setAccessibleName(name)
        self.setCheckable(True)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        theme.changed.connect(self.update)

    @property
    def why_not(self) -> str:
        """Why it cannot be chosen; empty if it can."""
        return self._why_not

    def set_why_not(self, reason: str) -> None:
        """Say why it cannot be chosen; empty if it can."""
        if reason != self._why_not:
            self._why_not = reason
            self.update()

    def nextCheckState(self) -> None:  # noqa: N802 - Qt's name
        """What cannot be chosen can only be left."""
        if not self._why_not or self.isChecked():
            super().nextCheckState()


class ChoiceGroup(QObject):
    """One of several Choosables, in rows of `columns`: Tab stops once, the arrow keys go from one to the next.

    `chosen(name)` is what a person chose; `pointed(name)` is the one that has the focus, and "" when none has.
    """

    chosen = Signal(str)
    pointed = Signal(str)

    def __init__(self, buttons: Mapping[str, Choosable], columns: int = 1, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.buttons = dict(buttons)
        self._columns = columns
        self._group = QButtonGroup(self)
        for name, button in self.buttons.items():
            self._group.addButton(button)
            button.clicked.connect(lambda _=False, name=name: self._choose(name))
            button.installEventFilter(self)

    def show_chosen(self, name: str) -> None:
        """Check this one, or none if it is not among them; reports nothing."""
        checked = self._group.checkedButton()
        if name in self.buttons:
            self.buttons[name].setChecked(True)
        elif checked is not None:
            # An exclusive group keeps one button checked for good.
            self._group.setExclusive(False)
            checked.setChecked(False)
            self._group.setExclusive(True)
        if not any(button.hasFocus() for button in self.buttons.values()):
            self._stop_at_chosen()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Follow the arrow keys and the focus."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._move(watched, event.key())
        if isinstance(event, QFocusEvent):
            if event.lostFocus():
                self._stop_at_chosen()
            self.pointed.emit(self._name_of(watched) if event.gotFocus() else "")
        return False

    def _move(self, button: QObject, key: int) -> bool:
        steps = {
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_Up: -self._columns,
            Qt.Key.Key_Down: self._columns,
        }
        if key not in steps:
            return False
        every = list(self.buttons.values())
        place = every.index(button) + steps[Qt.Key(key)]  # type: ignore[arg-type]
        if 0 <= place < len(every):
            every[place].setFocus(Qt.FocusReason.TabFocusReason)
            if not every[place].why_not:
                every[place].click()
        return True

    def _choose(self, name: str) -> None:
        if not self.buttons[name].why_not:
            self.chosen.emit(name)

    def _stop_at_chosen(self) -> None:
        """Let Tab come to the chosen one, also after the keys went on to one that cannot be chosen."""
        stop = self._group.checkedButton() or next(iter(self.buttons.values()))
        for button in self.buttons.values():
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus if button is stop else Qt.FocusPolicy.ClickFocus)

    def _name_of(self, button: QObject) -> str:
        return next((name for name, each in self.buttons.items() if each is button), "")
