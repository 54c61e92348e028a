from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from gpu_studio.ui.kit.fields import Choice, PositiveNumber, WholeNumber


@pytest.fixture
def shown(qtbot):
    """Show fields in a window, none of them with the focus."""
    windows: list[QWidget] = []

    def show(*fields: QWidget) -> QWidget:
        window = QWidget()
        windows.append(window)
        column = QVBoxLayout(window)
        other = QWidget()
        other.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        for widget in (other, *fields):
            column.addWidget(widget)
        qtbot.addWidget(window)
        window.show()
        window.activateWindow()
        other.setFocus()
        qtbot.waitUntil(other.hasFocus)
        return window

    return show


def typed(qtbot, field: QWidget, text: str) -> None:
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClicks(field, text)


def turn(field: QWidget) -> None:
    middle = QPointF(field.rect().center())
    event = QWheelEvent(
        middle, field.mapToGlobal(middle), QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(field, event)


def test_that_a_typed_whole_number_is_told_as_it_is_typed(qtbot, shown) -> None:
    field, told = WholeNumber("epochs", 1, 1000), []
    field.edited.connect(told.append)
    shown(field)
    typed(qtbot, field, "42")
    assert told[-1] == 42


@pytest.mark.parametrize("text", ["1.000", "1e3", "2.5", "12a", "9000"])
def test_that_nothing_stays_of_the_beginning_of_what_is_no_number(qtbot, shown, text: str) -> None:
    field, told = WholeNumber("epochs", 1, 5000), []
    field.show_value(20)
    field.edited.connect(told.append)
    shown(field)
    typed(qtbot, field, text)
    assert field.wrong
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert (field.value(), field.text(), field.wrong) == (20, "20", "")
    assert told[-1] == 20


def test_that_a_value_that_is_shown_is_not_told(qtbot, shown) -> None:
    number, choice, real = (
        WholeNumber("epochs", 1, 1000),
        Choice("optimizer", ["adam", "sgd"]),
        PositiveNumber("rate"),
    )
    told: list[object] = []
    for field in (number, choice, real):
        field.edited.connect(told.append)
    shown(number, choice, real)
    number.show_value(7)
    choice.show_value("sgd")
    real.show_value(0.5)
    assert (number.value(), choice.currentText(), real.text()) == (7, "sgd", "0.5")
    assert told == []


@pytest.mark.parametrize("value", [0, -5, 5000])
def test_that_a_value_out_of_bounds_from_a_file_is_shown_as_it_is(qapp, qtbot, value: int) -> None:
    field = WholeNumber("epochs", 1, 1000)
    qtbot.addWidget(field)
    field.show_value(value)
    assert field.value() == value


def test_that_the_wheel_changes_a_number_only_with_the_focus(qtbot, shown) -> None:
    field = WholeNumber("epochs", 1, 1000)
    shown(field)
    field.show_value(5)
    turn(field)
    assert field.value() == 5
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    turn(field)
    assert field.value() == 6


@pytest.mark.parametrize(
    ("text", "value"), [("0.01", 0.01), ("1e-3", 0.001), ("0,5", 0.5), (" 2 ", 2.0)]
)
def test_that_numbers_are_read_as_people_write_them(qtbot, shown, text: str, value: float) -> None:
    field, told = PositiveNumber("learning rate"), []
    field.edited.connect(told.append)
    shown(field)
    typed(qtbot, field, text)
    assert told[-1] == value
    assert field.property("wrong") is not True


@pytest.mark.parametrize("text", ["", "fast", "0", "-1", "nan", "inf"])
def test_that_what_is_no_positive_number_is_marked_and_not_told(qtbot, shown, text: str) -> None:
    field, told = PositiveNumber("learning rate"), []
    field.show_value(0.001)
    field.edited.connect(told.append)
    window = shown(field)
    field.setFocus()
    field.selectAll()
    qtbot.keyClick(field, Qt.Key.Key_Delete)
    qtbot.keyClicks(field, text)
    assert field.property("wrong") is True
    assert "above 0" in field.toolTip()
    assert all(value > 0 for value in told)
    window.findChildren(QWidget)[0].setFocus()
    assert field.text() == "0.001"
    assert field.property("wrong") is False


def test_that_ones_own_way_to_write_a_number_stays(qtbot, shown) -> None:
    field = PositiveNumber("learning rate")
    field.edited.connect(field.show_value)
    shown(field)
    typed(qtbot, field, "1e-3")
    assert field.text() == "1e-3"


def test_that_a_name_not_among_the_choices_is_shown_as_it_is(qtbot, shown) -> None:
    field = Choice("optimizer", ["adam", "sgd"])
    shown(field)
    field.show_value("adm")
    assert field.currentText() == "adm"


def test_that_a_choice_by_keyboard_is_told(qtbot, shown) -> None:
    field, told = Choice("optimizer", ["adam", "sgd"]), []
    field.edited.connect(told.append)
    shown(field)
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_Down)
    assert told == ["sgd"]
