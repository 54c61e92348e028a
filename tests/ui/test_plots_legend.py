from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import DARK, Tokens
from gpu_studio.ui.widgets.option import Option
from gpu_studio.ui.widgets.plots.curve import Style
from gpu_studio.ui.widgets.plots.legend import Entry, Legend


@pytest.fixture
def theme(qapp):
    return ThemeManager("dark")


def device(place):
    return Style(lambda tokens: tokens.device_colour(place), Tokens.device_dash(place))


def seen(widget):
    image = widget.grab().toImage()
    return {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}


def test_that_each_entry_is_drawn_in_its_colour_and_told_by_name(qtbot, theme):
    legend = Legend(theme)
    qtbot.addWidget(legend)
    legend.resize(400, 20)
    legend.set_entries([Entry("GPU:0", device(0)), Entry("GPU:1", device(1), "640 MiB")])
    assert {DARK.devices[0], DARK.devices[1]} <= seen(legend)
    assert legend.accessibleName() == "GPU:0, GPU:1 640 MiB"


def test_that_what_has_no_room_is_left_out_whole(qtbot, theme):
    legend = Legend(theme)
    qtbot.addWidget(legend)
    legend.set_entries([Entry("GPU:0", device(0)), Entry("GPU:1", device(1))])
    legend.resize(legend.sizeHint().width() - 30, 20)
    assert DARK.devices[0] in seen(legend)
    assert DARK.devices[1] not in seen(legend)


def test_that_a_shorter_figure_does_not_take_room_away(qtbot, theme):
    legend = Legend(theme)
    qtbot.addWidget(legend)
    legend.set_entries([Entry("train", device(0), "0.12345")])
    before = legend.sizeHint()
    legend.set_entries([Entry("train", device(0), "0.1")])
    assert legend.sizeHint() == before
    legend.set_entries([Entry("t", device(0))])
    assert legend.sizeHint().width() < before.width()


def test_that_a_switch_is_switched_by_mouse_and_space_and_shows_it(qtbot, theme):
    option = Option.switch("log", theme, "Logarithmic axis")
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
    option = Option("smooth 0.6", theme)
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
