"""On every page of the real window, what has the focus looks different from what has not.

In both themes.
"""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QAbstractButton, QApplication, QScrollArea, QWidget
from reaching import reachable, spoken
from window_pages import with_shown_run

from gpu_studio.ui.window.actions.plan_actions import PARTS
from gpu_studio.ui.window.main_window import MainWindow
from gpu_studio.ui.window.services import PAGES

AROUND = 6
"""Pixels beside a control in which its focus may be drawn."""


@pytest.fixture
def window(open_window, runs, qtbot, dressed) -> MainWindow:
    """The window with cards, a failed run that is shown, and one that is selected.

    No caret in it blinks.
    """
    return with_shown_run(open_window, runs, qtbot, "failed")


def places(window: MainWindow):
    """Every page, the Plan page with each of its parts, one after the other."""
    for page in PAGES:
        window.show_page(page)
        for part in PARTS if page == "plan" else ("",):
            if part:
                window.plan_page.workspace.open(part)
            yield f"{page} {part}".rstrip()


def lasting(window: QWidget) -> list[QWidget]:
    """All that takes the focus, but for what cancels a question: that goes when it is answered."""
    return [widget for widget in reachable(window) if not spoken(widget).startswith("Cancel: ")]


def seen(window: QWidget, widget: QWidget) -> QImage:
    """The control with what is around it, as it is painted now."""
    around = QRect(widget.mapTo(window, QPoint(0, 0)), widget.size()).adjusted(
        -AROUND, -AROUND, AROUND, AROUND
    )
    return window.grab(around).toImage()


def unseen(window: MainWindow, widget: QWidget) -> bool:
    """Whether it takes the focus without being seen to have it."""
    QApplication.processEvents()
    around = widget.parentWidget()
    while around is not None:
        if isinstance(around, QScrollArea):
            around.ensureWidgetVisible(widget)
        around = around.parentWidget()
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    assert widget.hasFocus(), spoken(widget)
    QApplication.processEvents()
    focused = seen(window, widget)
    window.setFocus()
    return seen(window, widget) == focused


def kind(widget: QWidget) -> tuple[object, ...]:
    """What is dressed alike."""
    button = isinstance(widget, QAbstractButton) and (widget.isCheckable(), widget.isChecked())
    return type(widget), widget.objectName(), widget.property("kind"), button


def test_that_whatever_has_the_focus_is_seen_to_have_it(window: MainWindow) -> None:
    looked_at: set[QWidget] = set()
    window.activateWindow()
    found = []
    for place in places(window):
        for widget in lasting(window):
            if widget not in looked_at and unseen(window, widget):
                found.append(f"{place}: {type(widget).__name__} “{spoken(widget)}”")
            looked_at.add(widget)
    assert found == []


def test_that_one_of_each_kind_is_seen_to_have_the_focus_in_the_dark_too(
    window: MainWindow,
) -> None:
    window.actions_["theme_dark"].trigger()
    window.activateWindow()
    one_of_each: dict[tuple[object, ...], QWidget] = {}
    found = []
    for place in places(window):
        for widget in lasting(window):
            is_first = one_of_each.setdefault(kind(widget), widget) is widget
            if is_first and unseen(window, widget):
                found.append(f"{place}: {type(widget).__name__} “{spoken(widget)}”")
    assert found == []
