from __future__ import annotations

from typing import get_args

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QColor
from PySide6.QtWidgets import QApplication, QLabel, QToolTip, QVBoxLayout, QWidget

from gpu_studio.common.figures import plural, size_from_mib, used_of, whole_duration
from gpu_studio.contract.events import State
from gpu_studio.ui.kit.basic_widgets import (
    ActionButton,
    Button,
    CardFrame,
    Elided,
    Label,
    Paragraph,
    PrimaryButton,
    show_if,
)
from gpu_studio.ui.kit.notice import Notice
from gpu_studio.ui.kit.status_line import StatusLine
from gpu_studio.ui.kit.theme import ICONS, ThemeManager, font, mix, state_colour
from gpu_studio.ui.kit.words import sentence
from gpu_studio.ui.plan.carving.slice_bar import SliceBar, fitting
from gpu_studio.ui.plan.carving.strips import Segment
from gpu_studio.ui.train.header import Badge

STATES: tuple[State, ...] = get_args(State)
NEARLY = 60
"""A thin line between two pixels has a little of the ground in both."""


def colours(widget: QWidget) -> set[str]:
    image = widget.grab().toImage()
    return {
        image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())
    }


def nearest(wanted: str, widget: QWidget) -> int:
    """How far the most similar pixel is from this colour: steps of red, green and blue, summed."""
    channels = QColor(wanted).getRgb()[:3]
    found = (QColor(colour).getRgb()[:3] for colour in colours(widget))
    return min(
        sum(abs(one - other) for one, other in zip(channels, each, strict=True)) for each in found
    )


def test_that_a_wrapped_text_is_as_high_as_qt_finds_it_whatever_was_asked_before(qtbot) -> None:
    plain, ours = QLabel(), Label(role="caption")
    for label in (plain, ours):
        qtbot.addWidget(label)
        label.setFont(font("caption"))
        label.setWordWrap(True)
    changes = (
        lambda label: label.setText("many words " * 20),
        lambda label: label.setFont(font("heading")),
        lambda label: label.setContentsMargins(20, 5, 20, 5),
        lambda label: label.setText("few words"),
        lambda label: label.setWordWrap(False),
    )
    for change in changes:
        change(plain)
        change(ours)
        for width in (*range(100, 400, 5), 100):
            assert ours.heightForWidth(width) == plain.heightForWidth(width)


def test_that_a_run_that_was_stopped_has_a_sign_that_no_other_state_has() -> None:
    assert [state for state, sign in ICONS.items() if sign == ICONS["stopped"]] == ["stopped"]


@pytest.mark.parametrize("state", STATES)
def test_that_a_badge_says_its_state_by_word_and_by_colour(
    qtbot, theme: ThemeManager, state: State
) -> None:
    badge = Badge(theme, state)
    qtbot.addWidget(badge)
    badge.resize(badge.sizeHint())
    assert badge.accessibleName() == f"state: {state}"
    assert nearest(state_colour(state, theme.tokens), badge) < NEARLY
    assert badge.sizeHint().width() > badge.fontMetrics().horizontalAdvance(state)


def test_that_a_badge_without_a_state_takes_no_room(qtbot, theme: ThemeManager) -> None:
    badge = Badge(theme)
    qtbot.addWidget(badge)
    assert badge.sizeHint().isEmpty()
    badge.set_state("running")
    assert not badge.sizeHint().isEmpty()


def test_that_a_badge_wears_the_new_colours_when_the_theme_changes(
    qtbot, theme: ThemeManager
) -> None:
    badge = Badge(theme, "failed")
    qtbot.addWidget(badge)
    badge.resize(badge.sizeHint())
    light = colours(badge)
    theme.set_mode("dark")
    assert state_colour("failed", theme.tokens) in colours(badge)
    assert colours(badge) != light
    theme.set_mode("light")


def test_that_every_state_has_an_icon() -> None:
    assert set(ICONS) == set(STATES)


def test_that_a_name_that_looks_like_markup_is_shown_as_it_is(qtbot) -> None:
    label = Label("<b>plan</b>")
    qtbot.addWidget(label)
    assert label.textFormat() == Qt.TextFormat.PlainText


@pytest.mark.parametrize(
    "name", ["<b>plan</b>", 'run <img src="/no/such.png">', "a &lt; b <i>", "<p><a href='x'>y"]
)
@pytest.mark.usefixtures("dressed")
def test_that_a_tooltip_is_never_taken_for_markup_which_would_open_files(qtbot, name: str) -> None:
    label = Elided(name)
    qtbot.addWidget(label)
    label.show()
    QToolTip.showText(label.mapToGlobal(label.rect().center()), name, label)
    (tip,) = [
        each
        for each in QApplication.topLevelWidgets()
        if each.inherits("QTipLabel") and isinstance(each, QLabel) and each.text() == name
    ]
    assert tip.textFormat() == Qt.TextFormat.PlainText
    QToolTip.hideText()


def test_that_a_text_without_room_is_told_whole_by_its_tooltip(qtbot) -> None:
    label = Elided("a rather long text that has no room here")
    qtbot.addWidget(label)
    label.resize(80, 20)
    label.grab()
    assert label.toolTip() == label.text()
    label.resize(600, 20)
    label.grab()
    assert label.toolTip() == ""
    assert label.minimumSizeHint().width() < 80


def test_that_a_shorter_text_is_shown_before_the_text_is_cut(qtbot) -> None:
    label = Elided("learning rate, with a schedule of its own")
    label.shorter = ("rate",)
    qtbot.addWidget(label)
    label.resize(600, 20)
    assert label.shown == label.text()
    label.resize(80, 20)
    label.grab()
    assert label.shown == "rate"
    assert label.toolTip() == label.text()


def test_that_a_card_is_called_by_its_title(qtbot) -> None:
    card = CardFrame("What will happen")
    qtbot.addWidget(card)
    assert card.accessibleName() == "What will happen"
    assert [label.text() for label in card.findChildren(QLabel)] == ["WHAT WILL HAPPEN"]


def test_that_a_button_follows_its_action(qtbot) -> None:
    action = QAction("Train")
    done: list[bool] = []
    action.triggered.connect(lambda: done.append(True))
    button = ActionButton(action)
    qtbot.addWidget(button)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert done == [True]
    action.setEnabled(False)
    action.setToolTip("The plan has 1 problem")
    assert not button.isEnabled()
    assert button.toolTip() == "The plan has 1 problem"


def test_that_an_icon_alone_still_has_a_name(qtbot) -> None:
    button = ActionButton(QAction("Undo"), text="")
    qtbot.addWidget(button)
    assert button.text() == ""
    assert button.accessibleName() == "Undo"


def test_that_the_icon_of_the_primary_button_can_be_seen_on_the_accent(
    qtbot, theme: ThemeManager
) -> None:
    button = PrimaryButton(theme, QAction("Train"), "play")
    qtbot.addWidget(button)
    image = button.icon().pixmap(20, 20).toImage()
    assert (
        image.pixelColor(image.width() // 2, image.height() // 2).name() == theme.tokens.on_accent
    )


def test_that_a_notice_does_its_one_deed_and_goes(qtbot) -> None:
    notice, done = Notice(), []
    qtbot.addWidget(notice)
    notice.say("A run was deleted.", label="Undo", action=lambda: done.append("undone"))
    assert notice.accessibleName() == "A run was deleted."
    qtbot.mouseClick(notice.button, Qt.MouseButton.LeftButton)
    assert done == ["undone"]
    assert not notice.isVisible()
    notice.say("Another.", "bad")
    assert not notice.button.isVisible()


def test_that_slices_are_drawn_to_scale_in_their_devices_colours(
    qtbot, theme: ThemeManager
) -> None:
    bar = SliceBar(theme)
    qtbot.addWidget(bar)
    bar.resize(402, 44)
    bar.show_segments(
        [
            Segment(3, "GPU:0", "3 GiB", 0),
            Segment(1, "GPU:1", "1 GiB", 1),
            Segment(4, "", "4 GiB free"),
        ]
    )
    image = bar.grab().toImage()
    row = [image.pixelColor(x, 36).name() for x in range(image.width())]
    for place, share in ((0, 3 / 8), (1, 1 / 8)):
        wanted = mix(theme.tokens.device_colour(place), theme.tokens.surface, 0.3)
        assert row.count(wanted) == pytest.approx(400 * share, abs=18)
    assert bar.accessibleDescription() == "GPU:0 3 GiB, GPU:1 1 GiB"


def test_that_a_figure_without_room_is_left_out_and_not_cut(qapp) -> None:
    from PySide6.QtGui import QFontMetrics

    metrics = QFontMetrics(font("mono"))
    assert fitting("GPU:3", metrics, 100) == "GPU:3"
    assert fitting("GPU:3", metrics, 12) == "3"
    assert fitting("16,384 MiB", metrics, 20) == ""
    assert (
        fitting(
            "hidden from TensorFlow by the plan", metrics, metrics.horizontalAdvance("hidden") + 1
        )
        == "hidden"
    )
    assert (
        fitting("lost: it no longer answers", metrics, metrics.horizontalAdvance("lost") + 1)
        == "lost"
    )


def test_that_the_status_line_shows_the_run_and_its_state(qtbot, theme: ThemeManager) -> None:
    line = StatusLine(theme)
    qtbot.addWidget(line)
    line.show()
    line.set_run("digits · epoch 3 of 20", "running")
    assert line.run_text == "digits · epoch 3 of 20"
    assert line.run_sign.isVisible()
    line.set_run("", None)
    assert not line.run_sign.isVisible()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (size_from_mib(812), "812 MiB"),
        (size_from_mib(6400), "6.2 GiB"),
        (size_from_mib(81_559), "79.6 GiB"),
        (used_of(512, 24_576), "0.5 / 24 GiB"),
        (used_of(None, None), "not known"),
        (whole_duration(41.2), "41 s"),
        (whole_duration(59.7), "1 min 00 s"),
        (whole_duration(362), "6 min 02 s"),
        (whole_duration(11_100), "3 h 05 min"),
        (plural(1, "core"), "1 core"),
        (plural(2048, "sample"), "2,048 samples"),
        (sentence("no driver (yet)"), "No driver (yet)."),
        (sentence("Why?"), "Why?"),
        (sentence("images/circles holds no images"), "images/circles holds no images."),
        (sentence("models.py is not there"), "models.py is not there."),
        (sentence(""), ""),
    ],
)
def test_that_figures_carry_their_units(text: str, wanted: str) -> None:
    assert text == wanted


@pytest.mark.parametrize("is_part", [False, True])
def test_that_what_is_hidden_does_not_hand_its_focus_to_the_field_that_comes_next(qtbot, is_part):
    window, group = QWidget(), QWidget()
    qtbot.addWidget(window)
    first, following = Button("first"), Button("next")
    QVBoxLayout(group).addWidget(first)
    for each in (group, following):
        (window.layout() or QVBoxLayout(window)).addWidget(each)
    window.show()
    window.activateWindow()
    first.setFocus()
    qtbot.waitUntil(first.hasFocus)
    show_if(group if is_part else first, False)
    assert not first.isVisible()
    assert not following.hasFocus()
    show_if(group if is_part else first, True)
    assert first.isVisible()


@pytest.mark.parametrize("kind", [Label, Paragraph, Elided])
def test_that_a_sentence_with_a_name_from_right_to_left_begins_at_the_left(qtbot, kind) -> None:
    """A message was '.has started' at its left, and the number of the run at its right."""
    for text, from_left in (
        ("#14 קצת עברית has started.", True),
        ("#14 קצת עברית", True),
        ("קצת עברית", False),
        ("digits", True),
        ("Größe", True),
    ):
        label = kind(text)
        qtbot.addWidget(label)
        assert label.text() == text
        label.resize(600, 30)
        drawn = label.grab().toImage()
        background = drawn.pixelColor(drawn.width() // 2, 1)
        ink = [
            x
            for x in range(drawn.width())
            if any(drawn.pixelColor(x, y) != background for y in range(drawn.height()))
        ]
        assert (ink[0] < drawn.width() // 3) == (from_left or kind is Elided)
