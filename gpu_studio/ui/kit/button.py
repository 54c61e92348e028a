"""Push buttons in the window's three weights."""

from __future__ import annotations

from typing import Literal

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QPushButton, QWidget

from gpu_studio.ui.kit.theme.fonts import font
from gpu_studio.ui.kit.theme.icons import coloured_icon
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.kit.theme.palette import mix

Kind = Literal["plain", "primary", "quiet"]


class Button(QPushButton):
    """A push button.

    It is `primary` for the page's main action, `plain`, or `quiet` without a frame.
    """

    def __init__(
        self, text: str, kind: Kind = "plain", parent: QWidget | None = None, *, small: bool = False
    ) -> None:
        super().__init__(text, parent)
        self.setProperty("kind", kind)
        self.setProperty("small", small)
        self.setFont(font("text"))
        self.setAccessibleName(text)
        self.setAutoDefault(False)


class ActionButton(Button):
    """A button for one of the window's actions: it has its state and tooltip, and triggers it.

    Without a `text` of its own it is called as the action is, also when that changes. With the text
    "" it shows the icon alone, and is called as the action is.
    """

    def __init__(
        self,
        action: QAction,
        kind: Kind = "plain",
        parent: QWidget | None = None,
        *,
        text: str | None = None,
        small: bool = False,
    ) -> None:
        super().__init__(action.text() if text is None else text, kind, parent, small=small)
        self._action = action
        self._called_as_action = text is None
        self.setAccessibleName(text or action.text())
        self.clicked.connect(action.trigger)
        action.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        if self._called_as_action and self.text() != self._action.text():
            self.setText(self._action.text())
            self.setAccessibleName(self._action.text())
        self.setEnabled(self._action.isEnabled())
        self.setToolTip(self._action.toolTip())
        self.setIcon(self._action.icon())


class PrimaryButton(ActionButton):
    """The button of a page's main action. Its icon has the colour of text on the accent."""

    def __init__(
        self, theme: ThemeManager, action: QAction, icon: str, parent: QWidget | None = None
    ) -> None:
        self._theme = theme
        self._icon = icon
        super().__init__(action, "primary", parent)
        theme.changed.connect(self._follow)

    def _follow(self) -> None:
        super()._follow()
        tokens = self._theme.tokens
        faint = mix(tokens.muted, tokens.surface, 0.6)
        self.setIcon(coloured_icon(self._icon, tokens.on_accent if self.isEnabled() else faint))
