"""Fields beyond those of the card: switches, segments, suggestions, numbers of any size."""

from __future__ import annotations

import pytest
from edited_part import click, in_window, type_in
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from gpu_studio.plan.files import inline
from gpu_studio.ui.kit.fields import Choice, Segments, Suggested, Switch, Typed, WholeNumber
from gpu_studio.ui.kit.fields.typed import read_toml, read_wholes, write_wholes


def heard(field) -> list[object]:
    told: list[object] = []
    field.edited.connect(told.append)
    return told


@pytest.mark.parametrize("value", [2**63, -(2**40), "many", True, 1.5, [1]])
def test_that_a_whole_number_field_shows_whatever_stands_in_the_file(qtbot, value: object) -> None:
    field = WholeNumber("seed", 0, 2**32 - 1)
    qtbot.addWidget(field)
    told = heard(field)
    field.show_value(value)
    assert field.text() == inline(value)
    assert (told, field.wrong) == ([], "")


def test_that_a_number_beyond_32_bits_is_typed_and_stepped_up_to_its_bound(qtbot) -> None:
    field = WholeNumber("seed", 0, 2**32 - 1)
    in_window(qtbot, field)
    told = heard(field)
    type_in(qtbot, field, str(2**32 - 2))
    for _ in range(3):
        qtbot.keyClick(field, Qt.Key.Key_Up)
    assert told[-2:] == [2**32 - 2, 2**32 - 1]
    qtbot.keyClick(field, Qt.Key.Key_PageDown)
    assert field.value() == 2**32 - 11


@pytest.mark.parametrize("text", ["0", "", "ten", "1001"])
def test_that_what_is_out_of_bounds_is_marked_and_not_told_and_goes_when_the_field_is_left(
    qtbot, text: str
) -> None:
    field = WholeNumber("epochs", 2, 1000)
    in_window(qtbot, field)
    field.show_value(20)
    told = heard(field)
    type_in(qtbot, field, text)
    assert field.property("wrong") is True
    assert "whole number" in field.toolTip()
    assert 0 not in told
    assert 1001 not in told
    field.clearFocus()
    assert field.text() == str(field.value())
    assert field.property("wrong") is False


def test_that_a_step_from_out_of_the_bounds_leads_into_them(qtbot) -> None:
    field = WholeNumber("epochs", 1, 1000)
    in_window(qtbot, field)
    field.show_value(-7)
    field.setFocus()
    told = heard(field)
    qtbot.keyClick(field, Qt.Key.Key_Up)
    assert told == [1]


def test_that_a_switch_is_pressed_by_mouse_and_space_and_quotes_what_is_neither(qtbot) -> None:
    field = Switch("staircase")
    in_window(qtbot, field)
    told = heard(field)
    click(qtbot, field)
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_Space)
    assert (told, field.text()) == ([True, False], "off")
    field.show_value("yes")
    assert (field.isChecked(), field.text()) == (False, '"yes"')
    field.show_value(True)
    assert (field.isChecked(), field.text(), len(told)) == (True, "on", 2)
    assert not field.grab().toImage().isNull()


def test_that_segments_are_chosen_by_mouse_and_none_is_checked_for_what_is_none_of_them(
    qtbot,
) -> None:
    field = Segments("source", {"name": "Built-in", "file": "File"})
    in_window(qtbot, field)
    told = heard(field)
    click(qtbot, field.buttons["file"])
    assert told == ["file"]
    field.show_value(None)
    assert not any(button.isChecked() for button in field.buttons.values())
    field.show_value("name")
    assert field.buttons["name"].isChecked()
    assert told == ["file"]
    field.buttons["name"].setFocus()
    qtbot.keyClick(field.buttons["name"], Qt.Key.Key_Right)
    assert told == ["file", "file"]
    assert field.buttons["file"].hasFocus()


def test_that_a_list_is_told_as_it_is_typed_and_keeps_its_writing_and_cursor(qtbot) -> None:
    field = Typed("hidden", read_wholes, write_wholes)
    in_window(qtbot, field)
    field.edited.connect(field.show_value)
    told = heard(field)
    type_in(qtbot, field, "64 32")
    assert told[-1] == [64, 32]
    field.setCursorPosition(1)
    field.show_value([64, 32])
    assert (field.text(), field.cursorPosition()) == ("64 32", 1)
    field.show_value([7])
    assert field.text() == "7"


def test_that_toml_that_is_none_is_marked_and_not_told(qtbot) -> None:
    field = Typed("beta_1", read_toml, inline)
    in_window(qtbot, field)
    field.show_value(0.9)
    told = heard(field)
    type_in(qtbot, field, "[1, ")
    assert field.property("wrong") is True
    assert told == [1] or told == []
    qtbot.keyClicks(field, "2]")
    assert told[-1] == [1, 2]
    assert field.property("wrong") is False


def test_that_one_and_true_are_two_values(qtbot) -> None:
    field = Typed("nesterov", read_toml, inline)
    qtbot.addWidget(field)
    field.show_value(1)
    field.show_value(True)
    assert field.text() == "true"


def test_that_names_are_suggested_and_a_chosen_one_is_told(qtbot) -> None:
    field = Suggested("option", ["momentum", "nesterov"])
    in_window(qtbot, field)
    told = heard(field)
    type_in(qtbot, field, "mom")
    qtbot.waitUntil(lambda: field.completer().popup().isVisible())
    qtbot.keyClick(field.completer().popup(), Qt.Key.Key_Down)
    qtbot.keyClick(field.completer().popup(), Qt.Key.Key_Return)
    assert told[-1] == field.text() == "momentum"


def test_that_a_choice_of_nothing_has_words_and_others_can_be_offered(qtbot) -> None:
    field = Choice("schedule", [None, "step"], words={None: "none"})
    in_window(qtbot, field)
    told = heard(field)
    field.show_value(None)
    assert field.currentText() == "none"
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_Down)
    assert told == ["step"]
    field.set_names(["cosine"])
    field.show_value("step")
    assert field.currentText() == "step"
    field.show_value("cosine")
    assert [field.itemText(index) for index in range(field.count())] == ["cosine"]
    assert QGuiApplication.focusObject() is field
