"""An audit of the real window: everything that takes the focus has a name, and Tab reaches it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QDialog, QWidget
from reaching import left_out, reachable, spoken, tabbed, without_names
from window_pages import with_shown_run

from gpu_studio.plan.edits.distribution import set_strategy
from gpu_studio.ui.window.actions.plan_actions import PARTS
from gpu_studio.ui.window.main_window import MainWindow
from gpu_studio.ui.window.services import PAGES

PLACES = [(page, "") for page in PAGES if page != "plan"] + [("plan", part) for part in PARTS]
STRATEGIES = ("none", "one_device", "central_storage", "placed")
DIALOGS = ("doctor", "palette", "shortcuts", "about", "new_starter")


@pytest.fixture
def window(open_window, runs, qtbot) -> MainWindow:
    """The window with cards, a run that is shown, and a run that is selected."""
    return with_shown_run(open_window, runs, qtbot, "completed")


def go_to(window: MainWindow, page, part: str) -> None:
    window.show_page(page)
    if part:
        window.plan_page.workspace.open(part)
    window.activateWindow()


def test_that_all_that_takes_the_focus_has_a_name_of_its_own_and_is_reached_in_order(
    window: MainWindow,
) -> None:
    for page, part in PLACES:
        go_to(window, page, part)
        widgets = reachable(window)
        assert len(widgets) > 6, (page, part)
        assert without_names(window) == [], (page, part)
        names = [spoken(widget) for widget in widgets]
        assert sorted(names) == sorted(set(names)), (page, part)
        assert left_out(window) == [], (page, part)
        ways = pairwise(tabbed(window)) if page == "plan" else ()
        up = [(spoken(one), spoken(then)) for one, then in ways if goes_up(one, then)]
        assert up == [], (page, part)


def test_that_the_options_of_every_strategy_are_reached_and_named(window: MainWindow) -> None:
    go_to(window, "plan", "Strategy")
    for strategy in STRATEGIES:
        window.document.replace(set_strategy(window.document.plan, strategy), "choose")
        assert without_names(window) == [], strategy
        assert left_out(window) == [], strategy


def test_that_everything_in_a_dialog_has_a_name_and_is_reached(window: MainWindow, qtbot) -> None:
    window.plan_page.name.setText("mine")
    window.plan_page.name.textEdited.emit("mine")
    for action in DIALOGS:
        window.actions_[action].trigger()
        (dialog,) = (each for each in window.findChildren(QDialog) if each.isVisible())
        dialog.activateWindow()
        qtbot.waitUntil(dialog.isActiveWindow)
        assert reachable(dialog), action
        assert without_names(dialog) == [], action
        assert left_out(dialog) == [], action
        dialog.close()


def goes_up(one: QWidget, following: QWidget) -> bool:
    """Whether `following` stands over `one` in the same column.

    From card to card the way may lead up again.
    """
    frame = column_of(one)
    if frame is None or frame is not column_of(following):
        return False
    place, next_place = (
        QRect(each.mapTo(frame, QPoint(0, 0)), each.size()) for each in (one, following)
    )
    beside = next_place.left() > place.right() or place.left() > next_place.right()
    return not beside and next_place.bottom() < place.top()


def column_of(widget: QWidget) -> QWidget | None:
    """What scrolls with it, or the card or page that it stands in."""
    around = widget.parentWidget()
    while around is not None and around.objectName() not in ("card", "page", "plain"):
        around = around.parentWidget()
    return around
