"""On every page of the real window, what has the focus looks different from what has not.

In both themes.
"""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, QRect, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QPushButton,
    QScrollArea,
    QTabBar,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot
from reaching import reachable, spoken
from window_pages import with_shown_run

from gpu_studio.ui.window.actions.plan_actions import PARTS
from gpu_studio.ui.window.frame import WindowFrame
from gpu_studio.ui.window.main_window import MainWindow
from gpu_studio.ui.window.services import PAGES

AROUND = 6
"""Pixels beside a control in which its focus may be drawn."""


@pytest.fixture
def window(open_window, runs, qtbot, dressed) -> MainWindow:
    """The window with cards, a failed run that is shown, and one that is selected.

    No caret in it blinks, and no answer about its plan moves or hides what is looked at.
    """
    made = with_shown_run(open_window, runs, qtbot, "failed")
    qtbot.waitUntil(lambda: not made.facts.asking)
    return made


def places(window: MainWindow, qtbot: QtBot):
    """Every page, the Plan page with each of its parts, once what has tabs has some."""
    for page in PAGES:
        window.show_page(page)
        for part in PARTS if page == "plan" else ("",):
            if part:
                window.plan_page.workspace.open(part)
            QApplication.processEvents()
            qtbot.waitUntil(lambda: all(bar.count() for bar in tab_bars(window)))
            yield f"{page} {part}".rstrip()


def tab_bars(window: QWidget) -> list[QTabBar]:
    return [bar for bar in window.findChildren(QTabBar) if bar.isVisible()]


def lasting(window: QWidget) -> list[QWidget]:
    """All that takes the focus, but for what cancels a question: that goes when it is answered."""
    return [widget for widget in reachable(window) if not spoken(widget).startswith("Cancel: ")]


def seen(window: QWidget, widget: QWidget) -> QImage:
    """The control with what is around it, as it is painted now."""
    around = QRect(widget.mapTo(window, QPoint(0, 0)), widget.size()).adjusted(
        -AROUND, -AROUND, AROUND, AROUND
    )
    return window.grab(around).toImage()


def lay_out() -> None:
    """Give all that waits for it its place and size."""
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)


def unseen(window: MainWindow, widget: QWidget) -> bool:
    """Whether it takes the focus without being seen to have it, even once all has happened."""
    if looks_the_same(window, widget):
        QApplication.processEvents()
        return looks_the_same(window, widget)
    return False


def looks_the_same(window: MainWindow, widget: QWidget) -> bool:
    """Whether it looks with the focus as it does without.

    Meanwhile things are laid out, but not painted: a look paints what it shows by itself, and all
    else would be painted twice for each control.
    """
    lay_out()
    around = widget.parentWidget()
    while around is not None:
        if isinstance(around, QScrollArea):
            around.ensureWidgetVisible(widget)
        around = around.parentWidget()
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    assert widget.hasFocus(), spoken(widget)
    lay_out()
    focused = seen(window, widget)
    window.setFocus()
    return seen(window, widget) == focused


def kind(widget: QWidget) -> tuple[object, ...]:
    """What is dressed alike."""
    button = isinstance(widget, QAbstractButton) and (widget.isCheckable(), widget.isChecked())
    return type(widget), widget.objectName(), widget.property("kind"), button


def test_that_whatever_has_the_focus_is_seen_to_have_it(window: MainWindow, qtbot: QtBot) -> None:
    looked_at: set[QWidget] = set()
    window.activateWindow()
    found = []
    for place in places(window, qtbot):
        for widget in lasting(window):
            if widget not in looked_at and unseen(window, widget):
                found.append(f"{place}: {type(widget).__name__} “{spoken(widget)}”")
            looked_at.add(widget)
    assert found == []


@pytest.mark.whole(__file__)
def test_that_one_of_each_kind_is_seen_to_have_the_focus_in_the_dark_too(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.actions_["theme_dark"].trigger()
    window.activateWindow()
    one_of_each: dict[tuple[object, ...], QWidget] = {}
    found = []
    for place in places(window, qtbot):
        for widget in lasting(window):
            is_first = one_of_each.setdefault(kind(widget), widget) is widget
            if is_first and unseen(window, widget):
                found.append(f"{place}: {type(widget).__name__} “{spoken(widget)}”")
    assert found == []


def test_that_what_tab_reaches_in_a_list_that_is_scrolled_away_comes_into_view(
    qtbot: QtBot,
) -> None:
    frame, whole, area, inner = WindowFrame(), QWidget(), QScrollArea(), QWidget()
    qtbot.addWidget(frame)
    before, buttons = QPushButton("before"), [QPushButton(str(place)) for place in range(60)]
    rows, column = QVBoxLayout(inner), QVBoxLayout(whole)
    for button in buttons:
        rows.addWidget(button)
    area.setWidget(inner)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    column.addWidget(before)
    column.addWidget(area)
    frame.setCentralWidget(whole)
    frame.show()
    frame.activateWindow()
    before.setFocus()
    qtbot.waitUntil(before.hasFocus)
    area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())
    assert buttons[0].visibleRegion().isEmpty()
    buttons[0].setFocus(Qt.FocusReason.TabFocusReason)
    assert not buttons[0].visibleRegion().isEmpty()
