"""An audit of the real window: everything that takes the focus has a name, and Tab reaches it."""

from __future__ import annotations

import pytest
from made_machines import TWO_CARDS
from made_runs import Script, make_run
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QApplication, QComboBox, QLineEdit, QWidget

from gpu_studio.ui.main_window import PAGES, MainWindow

PAGE = pytest.mark.parametrize("page", PAGES)


@pytest.fixture
def window(open_window, runs, qtbot) -> MainWindow:
    """The window with cards, a run that is shown, and a run that is selected."""
    run = make_run(runs, Script(ending="completed", epochs=2, trained=2))
    made: MainWindow = open_window(machine=TWO_CARDS)
    made.show_page("runs")
    qtbot.waitUntil(lambda: len(made.run_list.page.model.rows) == 1)
    made.run_list.page.select(run.id)
    made.show_run(run)
    qtbot.waitUntil(lambda: made.shown_run.state == "finished")
    made.notice.say("Something to read.", "plain", "Undo", lambda: None)
    return made


def part_of_another(widget: QWidget) -> bool:
    """The inside of a field: the field itself has the name and the focus."""
    parent = widget.parentWidget()
    return isinstance(widget, QLineEdit) and isinstance(parent, QAbstractSpinBox | QComboBox)


def reachable(window: MainWindow) -> list[QWidget]:
    """What a person can bring the focus to."""
    return [
        widget
        for widget in window.findChildren(QWidget)
        if widget.isVisible() and widget.isEnabled() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not part_of_another(widget) and widget.focusProxy() is None
    ]  # fmt: skip


def spoken(widget: QWidget) -> str:
    """What a screen reader calls it. On Linux a combo box is called by its value, and described as what it is of."""
    interface = QAccessible.queryAccessibleInterface(widget)
    if interface is None:
        return ""
    what = QAccessible.Text.Description if isinstance(widget, QComboBox) else QAccessible.Text.Name
    return interface.text(what)


def one_of(widget: QWidget) -> QWidget:
    """The button that stands for an exclusive group: Tab stops at one, and the arrow keys reach the others."""
    group = widget.group() if isinstance(widget, QAbstractButton) else None
    return group.buttons()[0] if group is not None and group.exclusive() else widget


@PAGE
def test_that_everything_that_takes_the_focus_has_a_name(window: MainWindow, page) -> None:
    window.show_page(page)
    widgets = reachable(window)
    assert len(widgets) > 6
    assert [repr(widget) for widget in widgets if not spoken(widget).strip()] == []


@PAGE
def test_that_no_two_things_of_a_page_have_one_name(window: MainWindow, page) -> None:
    window.show_page(page)
    names = [spoken(widget) for widget in reachable(window)]
    assert sorted(names) == sorted(set(names))


@PAGE
def test_that_tab_reaches_everything_and_comes_round(window: MainWindow, page, qtbot) -> None:
    window.show_page(page)
    window.activateWindow()
    wanted = {one_of(widget) for widget in reachable(window)}
    reachable(window)[0].setFocus(Qt.FocusReason.TabFocusReason)
    seen: set[QWidget] = set()
    for _ in range(3 * len(wanted)):
        focused = QApplication.focusWidget()
        assert focused is not None
        seen.add(one_of(focused))
        qtbot.keyClick(focused, Qt.Key.Key_Tab)
    assert [repr(widget) for widget in wanted - seen] == []
