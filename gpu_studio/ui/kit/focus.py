"""The keyboard focus of a window.

It is known even while another window is in front, and so is where Tab goes next.
"""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


def holds_focus(widget: QWidget) -> bool:
    """Return whether keys go to `widget`, or will once its window is active again."""
    return widget.window().focusWidget() is widget


def let_go_of_focus(widget: QWidget) -> None:
    """Move the focus from `widget` to its window before `widget` is hidden.

    Otherwise Qt would move it to whatever field comes next.
    """
    focused = widget.window().focusWidget()
    if focused is not None and widget.isAncestorOf(focused):
        widget.window().setFocus()


def tab_after(anchor: QWidget, widgets: Iterable[QWidget]) -> None:
    """Let Tab reach the widgets in this order after `anchor`.

    The anchor need not take the focus itself.
    """
    policy = anchor.focusPolicy()
    # Qt cannot order widgets after one that takes no focus.
    anchor.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    before = anchor
    for widget in widgets:
        if widget.focusPolicy() != Qt.FocusPolicy.NoFocus:
            QWidget.setTabOrder(before, widget)
            before = widget
    anchor.setFocusPolicy(policy)
