from __future__ import annotations

import re
from collections import Counter
from string import Template

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QFontInfo, QFontMetricsF, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFrame,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gpu_studio.common.paths import resource
from gpu_studio.ui.kit.theme import (
    DARK,
    LIGHT,
    MONO,
    SANS,
    FontRole,
    ThemeManager,
    Tokens,
    contrast,
    font,
    load_fonts,
    make_style_sheet,
    mix,
    readable,
)

BOTH = pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=lambda tokens: tokens.name)
colours = st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")


@BOTH
def test_that_text_can_be_read_on_every_ground(tokens: Tokens) -> None:
    grounds = [
        tokens.background,
        tokens.surface,
        tokens.raised,
        mix(tokens.accent, tokens.surface, 0.16),
    ]
    for ground in grounds:
        for ink in (tokens.text, tokens.muted):
            assert contrast(ink, ground) >= 4.5, (ink, ground)
    assert contrast(tokens.on_accent, tokens.accent) >= 4.5
    assert contrast(tokens.bad, tokens.surface) >= 4.5


def test_that_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@given(
    colour=colours, ground=st.sampled_from([LIGHT.surface, LIGHT.raised, DARK.surface, DARK.raised])
)
def test_that_any_colour_is_made_readable_and_left_alone_where_it_is(
    colour: str, ground: str
) -> None:
    text = LIGHT.text if ground in (LIGHT.surface, LIGHT.raised) else DARK.text
    ink = readable(colour, ground, text)
    assert contrast(ink, ground) >= 4.5
    if contrast(colour, ground) >= 4.5:
        assert ink == colour


@given(colours, colours)
def test_that_a_mixture_ends_at_its_two_colours(one: str, other: str) -> None:
    assert mix(one, other, 1.0) == one
    assert mix(one, other, 0.0) == other


def test_that_devices_are_told_apart_by_more_than_colour() -> None:
    seen = {(DARK.device_colour(index), DARK.device_dash(index)) for index in range(8)}
    assert len({colour for colour, _ in seen}) == len({dash for _, dash in seen}) == 8
    assert len({(DARK.device_colour(index), DARK.device_dash(index)) for index in range(64)}) == 64


def test_that_the_bundled_fonts_are_there_and_their_digits_have_one_width(
    qapp: QApplication,
) -> None:
    assert {SANS, MONO} <= set(load_fonts())
    roles: tuple[FontRole, ...] = ("text", "strong", "heading", "caption", "section", "mono")
    for role in roles:
        assert QFontInfo(font(role)).family() in (SANS, MONO)
        metrics = QFontMetricsF(font(role))
        assert metrics.horizontalAdvance("1111") == metrics.horizontalAdvance("0000")
    assert QFontInfo(font("heading")).pixelSize() == 19


def test_that_a_font_that_was_changed_is_no_other_widgets(qapp: QApplication) -> None:
    mine = font("text")
    mine.setItalic(True)
    assert not font("text").italic()


@BOTH
def test_that_the_style_sheet_has_a_value_in_every_place(
    qapp: QApplication, tokens: Tokens
) -> None:
    sheet = make_style_sheet(tokens)
    assert "$" not in sheet
    assert tokens.surface in sheet
    for path in re.findall(r'url\("([^"]+)"\)', sheet):
        assert resource("icons").joinpath(path).is_file()


def test_that_the_template_names_no_colour_of_its_own() -> None:
    template = resource("style/window.qss").read_text(encoding="utf-8")
    assert re.findall(r"#[0-9a-fA-F]{6}\b", template) == []
    assert Template(template).get_identifiers()


def test_that_a_chosen_mode_changes_the_tokens_and_tells_so(theme: ThemeManager, qtbot) -> None:
    with qtbot.waitSignal(theme.changed) as told:
        theme.set_mode("dark")
    assert theme.tokens is DARK
    assert told.args == [DARK]
    with qtbot.assertNotEmitted(theme.changed):
        theme.set_mode("dark")
    theme.set_mode("light")
    assert theme.tokens is LIGHT


def test_that_a_dressed_application_wears_the_new_colours_at_once(
    dressed: ThemeManager, qapp, qtbot
) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    assert widget.palette().color(QPalette.ColorRole.Window).name() == LIGHT.background
    dressed.set_mode("dark")
    assert qapp.palette().color(QPalette.ColorRole.Window).name() == DARK.background
    assert DARK.surface in qapp.styleSheet()


class Polishes(QObject):
    """Counts how often each widget is told of a new style."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[QObject] = Counter()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Count."""
        self.counts[watched] += event.type() == QEvent.Type.StyleChange
        return False


def nested(outer: QWidget, depth: int) -> QWidget:
    """A widget within so many frames within another widget."""
    for _ in range(depth):
        inside = QFrame(outer)
        QVBoxLayout(outer).addWidget(inside)
        outer = inside
    return outer


def test_that_a_change_of_theme_polishes_each_widget_once_however_deep_it_lies(
    dressed: ThemeManager, qapp, qtbot
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    deep = nested(window, 12)
    window.show()
    seen = Polishes()
    qapp.installEventFilter(seen)
    dressed.set_mode("dark")
    qapp.removeEventFilter(seen)
    widgets = [window, *window.findChildren(QWidget)]
    assert deep in widgets
    assert {seen.counts[widget] for widget in widgets} == {1}


def test_that_a_change_of_theme_reaches_what_is_hidden_and_windows_of_windows(
    dressed: ThemeManager, qtbot
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    hidden, dialog, alone = QWidget(window), QDialog(window), QPushButton("alone")
    qtbot.addWidget(alone)
    inks = [QLabel("caption", nested(parent, 3)) for parent in (hidden, dialog)]
    for label in inks:
        label.setProperty("role", "caption")
    window.show()
    dialog.show()
    hidden.hide()
    dressed.set_mode("dark")
    for label in inks:
        assert label.palette().color(label.foregroundRole()).name() == DARK.muted
    assert alone.grab().toImage().pixelColor(alone.rect().center().x(), 4).name() == DARK.raised
