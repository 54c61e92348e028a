"""What waits until its widget is seen: nothing is done while it is hidden, and once in the end."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject, Signal
from PySide6.QtWidgets import QLabel, QStackedWidget, QWidget

from gpu_studio.ui.kit import WhenSeen


class Teller(QObject):
    changed = Signal()


class Told(QLabel):
    """Shows how often it was filled, and notes what it showed when it came into sight."""

    def __init__(self) -> None:
        super().__init__()
        self.filled, self.seen_with = 0, ""
        self.seen = WhenSeen(self, self.fill)

    def fill(self) -> None:
        self.filled += 1
        self.setText(f"filled {self.filled} times")

    def showEvent(self, event) -> None:
        super().showEvent(event)
        self.seen_with = self.text()


@pytest.fixture
def stack(qtbot) -> QStackedWidget:
    """A shown stack of an empty page and one that tells how often it was filled."""
    made = QStackedWidget()
    made.addWidget(QWidget())
    made.addWidget(Told())
    qtbot.addWidget(made)
    made.show()
    return made


def told(stack: QStackedWidget) -> Told:
    page = stack.widget(1)
    assert isinstance(page, Told)
    return page


def test_that_a_hidden_widget_is_filled_once_as_it_comes_into_sight(stack) -> None:
    page = told(stack)
    for _ in range(3):
        page.seen.want()
    assert (page.filled, page.seen.due) == (0, True)
    stack.setCurrentIndex(1)
    assert (page.filled, page.seen.due) == (1, False)
    assert page.seen_with == "filled 1 times"


def test_that_a_widget_that_is_seen_is_filled_at_once_each_time(stack) -> None:
    page = told(stack)
    stack.setCurrentIndex(1)
    page.seen.want()
    page.seen.want()
    assert (page.filled, page.seen.due) == (2, False)


def test_that_what_is_filled_before_it_is_seen_is_not_filled_again_then(stack) -> None:
    page = told(stack)
    page.seen.want()
    page.seen.now()
    assert (page.filled, page.seen.due) == (1, False)
    stack.setCurrentIndex(1)
    assert page.filled == 1


def test_that_what_was_not_wanted_is_not_filled_again(stack) -> None:
    page = told(stack)
    page.seen.want()
    for index in (1, 0, 1):
        stack.setCurrentIndex(index)
    assert page.filled == 1
    stack.setCurrentIndex(0)
    page.seen.want()
    stack.setCurrentIndex(1)
    assert page.filled == 2


def test_that_a_part_of_a_hidden_page_waits_for_the_page(qtbot) -> None:
    page, part = QWidget(), Told()
    part.setParent(page)
    qtbot.addWidget(page)
    part.seen.want()
    assert part.filled == 0
    page.show()
    assert part.filled == 1


def test_that_a_widget_that_is_gone_is_not_filled(stack) -> None:
    teller, page = Teller(), told(stack)
    filled: list[int] = []
    teller.changed.connect(WhenSeen(page, lambda: filled.append(1)).want)
    stack.setCurrentIndex(1)
    teller.changed.emit()
    assert filled == [1]
    stack.removeWidget(page)
    page.setParent(None)
    page.deleteLater()
    QCoreApplication.sendPostedEvents(page, QEvent.Type.DeferredDelete)
    teller.changed.emit()
    assert filled == [1]
