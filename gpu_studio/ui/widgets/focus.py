"""Which widget of a window has the keyboard, also while another window is in front."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget


def holds_focus(widget: QWidget) -> bool:
    """Whether keys go to `widget`, or will as soon as its window is used again."""
    return widget.window().focusWidget() is widget


def let_go_of_focus(widget: QWidget) -> None:
    """Before `widget` goes with the focus in it: keys go to its window, not to whatever field Qt comes to next."""
    focused = widget.window().focusWidget()
    if focused is not None and widget.isAncestorOf(focused):
        widget.window().setFocus()
