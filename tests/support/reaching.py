"""Keyboard focus and accessibility of a window: reachable widgets, their names, the tab order."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QWidget,
)


def part_of_another(widget: QWidget) -> bool:
    """The inside of a field: the field itself has the name and the focus."""
    parent = widget.parentWidget()
    return isinstance(widget, QLineEdit) and isinstance(parent, QAbstractSpinBox | QComboBox)


def reachable(window: QWidget) -> list[QWidget]:
    """What a person can bring the focus to."""
    return [
        widget
        for widget in window.findChildren(QWidget)
        if widget.isVisible() and widget.isEnabled() and widget.window() is window
        and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and widget.focusProxy() is None and not part_of_another(widget)
    ]  # fmt: skip


def spoken(widget: QWidget) -> str:
    """What a screen reader calls it.

    On Linux a combo box is called by its value, and described as what it is of.
    """
    interface = QAccessible.queryAccessibleInterface(widget)
    if interface is None:
        return ""
    what = QAccessible.Text.Description if isinstance(widget, QComboBox) else QAccessible.Text.Name
    return interface.text(what)


def one_of(widget: QWidget) -> QWidget:
    """The button that stands for an exclusive group.

    Tab stops at one, and the arrow keys reach the others.
    """
    group = widget.group() if isinstance(widget, QAbstractButton) else None
    return group.buttons()[0] if group is not None and group.exclusive() else widget


def tabbed(window: QWidget) -> list[QWidget]:
    """Where Tab goes in an active window, once round, from the first thing that takes the focus."""
    first = reachable(window)[0]
    first.setFocus(Qt.FocusReason.TabFocusReason)
    way: list[QWidget] = []
    for _ in range(3 * len(reachable(window))):
        focused = QApplication.focusWidget()
        assert focused is not None
        if way and one_of(focused) is way[0]:
            break
        way.append(one_of(focused))
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    return way


def without_names(window: QWidget) -> list[str]:
    """All that takes the focus and is called nothing."""
    return [repr(widget) for widget in reachable(window) if not spoken(widget).strip()]


def left_out(window: QWidget) -> list[str]:
    """All that takes the focus and that Tab does not reach."""
    wanted, seen = {one_of(widget) for widget in reachable(window)}, set(tabbed(window))
    return [f"{widget!r} {spoken(widget)}" for widget in wanted - seen]
