"""Where Tab goes next, for widgets that are made later than those around them: Qt would put them last."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


def tab_after(anchor: QWidget, widgets: Iterable[QWidget]) -> None:
    """Let Tab reach the widgets in this order where it reaches `anchor`, which need not take the focus itself."""
    policy = anchor.focusPolicy()
    # Qt orders nothing after a widget that takes no focus.
    anchor.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    before = anchor
    for widget in widgets:
        if widget.focusPolicy() != Qt.FocusPolicy.NoFocus:
            QWidget.setTabOrder(before, widget)
            before = widget
    anchor.setFocusPolicy(policy)
