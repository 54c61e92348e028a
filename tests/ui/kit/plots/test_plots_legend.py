from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QMenu

from gpu_studio.ui.kit.options import OptionButton
from gpu_studio.ui.kit.plots.curve import Style
from gpu_studio.ui.kit.plots.legend import Legend, LegendEntry
from gpu_studio.ui.kit.theme import DARK, ThemeManager, Tokens


@pytest.fixture
def theme(qapp):
    return ThemeManager("dark")


def device(place):
    return Style(lambda tokens: tokens.device_colour(place), Tokens.device_dash(place))


def seen(widget):
    image = widget.grab().toImage()
    return {
        image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())
    }


def test_that_each_entry_is_drawn_in_its_colour_and_told_by_name(qtbot, theme):
    legend = Legend(theme)
    qtbot.addWidget(legend)
    legend.resize(400, 20)
    legend.set_entries(
        [LegendEntry("GPU:0", device(0)), LegendEntry("GPU:1", device(1), "640 MiB")]
    )
    assert {DARK.devices[0], DARK.devices[1]} <= seen(legend)
    assert legend.accessibleName() == "GPU:0, GPU:1 640 MiB"


def test_that_words_give_way_before_an_entry_is_left_out(qtbot, theme):
    legend = Legend(theme)
    qtbot.addWidget(legend)
    legend.set_entries(
        [LegendEntry("GPU:0", device(0), "640 MiB"), LegendEntry("GPU:1", device(1), "700 MiB")]
    )
    forms = []
    for width in range(legend.sizeHint().width(), 38, -1):
        legend.resize(width, 20)
        forms.append([place.words for place in legend.places()])
        assert all(place.left + place.width <= width + 1 for place in legend.places())
    told = list(dict.fromkeys(map(tuple, forms)))
    assert told == [("GPU:0 640 MiB", "GPU:1 700 MiB"), ("GPU:0", "GPU:1"), ("0", "1"), ("0",)]


def test_that_sixteen_devices_keep_their_numbers_in_the_smallest_window(qtbot, theme):
    legend = Legend(theme)
    qtbot.addWidget(legend)
    legend.set_entries([LegendEntry(f"GPU:{place}", device(place)) for place in range(16)])
    assert legend.minimumSizeHint().width() < 200
    legend.resize(470, 20)
    assert [place.words for place in legend.places()] == [str(place) for place in range(16)]


@pytest.fixture
def crowded(qtbot, theme):
    """A legend of sixteen devices with room for a few, that can be hidden."""
    legend = Legend(theme)
    qtbot.addWidget(legend)
    legend.make_switchable()
    legend.set_entries([LegendEntry(f"GPU:{place}", device(place)) for place in range(16)])
    legend.resize(200, 20)
    legend.show()
    return legend


def test_that_what_has_no_room_is_counted_at_the_end_and_named_in_the_tooltip(qtbot, crowded):
    shown, missing = len(crowded.places()), [entry.name for entry in crowded.left_out]
    assert 3 < shown < 12
    assert missing == [f"GPU:{place}" for place in range(shown, 16)]
    room = crowded.count_area()
    assert room.left() > crowded.places()[-1].left
    assert room.right() <= crowded.width()
    QApplication.sendEvent(crowded, QHelpEvent(QEvent.Type.ToolTip, QPoint(1, 1), QPoint(1, 1)))
    assert f"Not visible here: {', '.join(missing)}." in crowded.toolTip()
    crowded.resize(crowded.sizeHint())
    assert crowded.left_out == ()
    assert crowded.count_area().isEmpty()


def test_that_what_has_no_room_is_hidden_and_shown_in_a_menu_by_mouse_and_by_key(qtbot, crowded):
    qtbot.mouseClick(crowded, Qt.MouseButton.LeftButton, pos=crowded.count_area().center())
    menu = opened_menu(crowded)
    assert [action.text() for action in menu.actions() if action.isCheckable()] == [
        f"GPU:{n}" for n in range(16)
    ]
    menu.actions()[15].trigger()
    assert crowded.hidden == {"GPU:15"}
    menu.close()
    qtbot.waitUntil(lambda: not crowded.findChildren(QMenu))
    qtbot.keyClick(crowded, Qt.Key.Key_Down)
    menu = opened_menu(crowded)
    assert not menu.actions()[15].isChecked()
    menu.actions()[-1].trigger()
    assert crowded.hidden == set()
    menu.close()


def opened_menu(legend):
    (menu,) = (each for each in legend.findChildren(QMenu) if each.isVisible())
    return menu


def test_that_a_legend_of_two_lines_has_room_for_twice_as_many_and_each_can_be_clicked(
    qtbot, crowded
):
    one, line = len(crowded.places()), crowded.sizeHint().height()
    crowded.set_lines(2)
    assert crowded.sizeHint().height() == 2 * line
    crowded.resize(200, 2 * line)
    places = crowded.places()
    assert len(places) >= 2 * one - 1
    lower = next(place for place in places if place.line == 1)
    assert lower.left == 0
    qtbot.mouseClick(
        crowded, Qt.MouseButton.LeftButton, pos=QPoint(lower.left + 3, line + line // 2)
    )
    assert crowded.hidden == {lower.entry.name}
    qtbot.mouseClick(crowded, Qt.MouseButton.LeftButton, pos=QPoint(places[0].left + 3, line // 2))
    assert crowded.hidden == {lower.entry.name, "GPU:0"}


@pytest.fixture
def switched(qtbot, theme):
    """A legend of three curves that can be hidden."""
    legend = Legend(theme)
    qtbot.addWidget(legend)
    legend.make_switchable()
    legend.set_entries(
        [
            *(LegendEntry(f"GPU:{place}", device(place)) for place in range(3)),
            LegendEntry("card", device(3), fixed=True),
        ]
    )
    legend.resize(legend.sizeHint())
    legend.show()
    return legend


def click(qtbot, legend, number, how="mouseClick"):
    place = legend.places()[number]
    getattr(qtbot, how)(legend, Qt.MouseButton.LeftButton, pos=QPoint(place.left + 5, 8))


def test_that_a_click_hides_a_curve_and_the_next_shows_it_and_both_are_told(qtbot, switched):
    whole = seen(switched)
    with qtbot.waitSignal(switched.hidden_changed):
        click(qtbot, switched, 1)
    assert switched.hidden == {"GPU:1"}
    assert switched.accessibleName() == "Curves: GPU:0, GPU:1 (hidden), GPU:2, card"
    assert DARK.devices[1] in whole
    assert DARK.devices[1] not in seen(switched)
    click(qtbot, switched, 1)
    assert switched.hidden == set()


def test_that_a_double_click_leaves_one_curve_and_the_next_brings_all_back(qtbot, switched):
    for hidden in ({"GPU:0", "GPU:1"}, set()):
        for how in ("mouseClick", "mouseDClick", "mouseRelease"):
            click(qtbot, switched, 2, how)
        assert switched.hidden == hidden


def test_that_the_keys_do_what_the_mouse_does(qtbot, switched):
    qtbot.keyClick(switched, Qt.Key.Key_Right)
    qtbot.keyClick(switched, Qt.Key.Key_Space)
    assert switched.hidden == {"GPU:1"}
    qtbot.keyClick(switched, Qt.Key.Key_Left)
    qtbot.keyClick(switched, Qt.Key.Key_Return)
    assert switched.hidden == {"GPU:1", "GPU:2"}


def test_that_what_is_fixed_and_what_cannot_be_switched_stays(qtbot, switched, theme):
    click(qtbot, switched, 3)
    assert switched.hidden == set()
    plain = Legend(theme)
    qtbot.addWidget(plain)
    plain.set_entries(switched.entries)
    plain.resize(plain.sizeHint())
    click(qtbot, plain, 0)
    assert plain.hidden == set()


def test_that_a_shorter_figure_does_not_take_room_away(qtbot, theme):
    legend = Legend(theme)
    qtbot.addWidget(legend)
    legend.set_entries([LegendEntry("train", device(0), "0.12345")])
    before = legend.sizeHint()
    legend.set_entries([LegendEntry("train", device(0), "0.1")])
    assert legend.sizeHint() == before
    legend.set_entries([LegendEntry("t", device(0))])
    assert legend.sizeHint().width() < before.width()


def test_that_a_switch_is_switched_by_mouse_and_space_and_shows_it(qtbot, theme):
    option = OptionButton.switch("log", theme, "Logarithmic axis")
    qtbot.addWidget(option)
    option.show()
    off = seen(option)
    qtbot.mouseClick(option, Qt.MouseButton.LeftButton)
    assert option.isChecked()
    assert seen(option) != off
    qtbot.keyClick(option, Qt.Key.Key_Space)
    assert not option.isChecked()
    assert option.accessibleName() == "log: Logarithmic axis"


def test_that_an_option_with_a_menu_opens_it(qtbot, theme):
    option = OptionButton("smooth 0.6", theme)
    qtbot.addWidget(option)
    bare = option.sizeHint().width()
    menu = QMenu(option)
    menu.addAction("0.9")
    option.set_menu(menu)
    option.show()
    assert option.sizeHint().width() > bare
    qtbot.mouseClick(option, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(menu.isVisible)
    menu.close()
