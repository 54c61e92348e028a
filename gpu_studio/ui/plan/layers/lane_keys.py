"""The keys that move the selection to another device."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

GONE = (Qt.Key.Key_Delete, Qt.Key.Key_Backspace)
_CTRL, _ALT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier
_KEYPAD = Qt.KeyboardModifier.KeypadModifier


def held(event: QKeyEvent) -> Qt.KeyboardModifier:
    """Return the modifiers held with this key, without that of the keypad."""
    return event.modifiers() & ~_KEYPAD


def digit(event: QKeyEvent) -> tuple[int, bool] | None:
    """Return the device number, from 0 on, of Ctrl and a digit, and whether to split.

    With Alt too.
    """
    number = event.key() - int(Qt.Key.Key_1)
    if held(event) in (_CTRL, _CTRL | _ALT) and 0 <= number < 9:
        return number, bool(held(event) & _ALT)
    return None


def kept(event: QEvent, meant: Callable[[QKeyEvent], object]) -> bool:
    """Return whether this key, which is `meant` here, is about to become the window's shortcut.

    If so, it is kept from the window.
    """
    ours = (
        event.type() == QEvent.Type.ShortcutOverride
        and isinstance(event, QKeyEvent)
        and bool(meant(event))
    )
    if ours:
        event.accept()
    return ours


def is_ours(event: QKeyEvent) -> bool:
    """Return whether a key has a meaning here, so that it must not be the window's."""
    gone = not held(event) and event.key() in GONE
    return gone or digit(event) is not None or event.matches(QKeySequence.StandardKey.SelectAll)
