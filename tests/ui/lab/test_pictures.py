"""The pictures of results as they are drawn: on the screen, by keys, and into files."""

from __future__ import annotations

import re

import pytest
from made_benchmarks import CARDS, ROWS, made
from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QImage

from gpu_studio.lab.benchmark_pictures import Bar, Bars, Heat, pictures
from gpu_studio.ui.kit.device_place import HOST
from gpu_studio.ui.kit.theme import DARK, LIGHT
from gpu_studio.ui.lab.picture_card import PictureCard
from gpu_studio.ui.lab.pictures import curves
from gpu_studio.ui.lab.pictures.curves import LogAxis
from gpu_studio.ui.lab.pictures.drawing import number_of
from gpu_studio.ui.lab.pictures.picture_view import PictureFile, PictureView

EVERY = [picture for name in ROWS for picture in pictures(made(name))]


@pytest.fixture
def view(theme, qtbot) -> PictureView:
    made_view = PictureView(theme)
    qtbot.addWidget(made_view)
    made_view.resize(560, 320)
    made_view.show()
    return made_view


@pytest.mark.parametrize("picture", EVERY, ids=lambda picture: picture.title)
def test_that_all_that_can_be_pointed_at_lies_in_the_picture(view, picture):
    for size in ((560, 320), (330, 180)):
        view.resize(*size)
        view.show_picture(picture)
        view.grab()
        whole = QRectF(view.rect()).adjusted(-10, -10, 10, 10)
        assert view.spots
        for spot in view.spots:
            assert spot.said
            assert whole.contains(spot.area), spot


@pytest.mark.parametrize("picture", EVERY, ids=lambda picture: picture.title)
def test_that_a_picture_is_another_in_each_theme_and_is_not_empty(picture):
    images = [
        PictureFile(picture, "a caption", tokens, QSize(500, 300)).image()
        for tokens in (LIGHT, DARK)
    ]
    for image, tokens in zip(images, (LIGHT, DARK), strict=True):
        assert image.pixelColor(1, 1).name() == tokens.surface
        assert len({image.pixel(image.width() // 2, y) for y in range(image.height())}) > 1
    assert images[0] != images[1]


def test_that_the_keys_go_from_place_to_place_and_say_each(view, qtbot):
    (picture,) = pictures(made("launched", CARDS[:1]))
    view.show_picture(picture)
    said: list[str] = []
    view.pointed.connect(said.append)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left):
        qtbot.keyClick(view, key)
    returned, done = "GPU:0, calls returned: 900 µs", "GPU:0, results there: 490 ms"
    assert said == [returned, done, returned, done]
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert said[-1] == ""


def test_that_the_pointer_says_the_nearest_place(view, qtbot):
    view.show_picture(pictures(made("copies"))[0])
    said: list[str] = []
    view.pointed.connect(said.append)
    spot = view.spots[7]
    qtbot.mouseMove(view, spot.area.center().toPoint())
    assert said == [spot.said]
    qtbot.mouseMove(view, QPoint(1, 1))
    assert said[-1] == ""


def test_that_a_picture_is_heard_in_words(view):
    view.show_picture(pictures(made("copies"))[0])
    heard = QAccessible.queryAccessibleInterface(view)
    assert heard.text(QAccessible.Text.Name) == "64 MiB"
    assert "host to GPU:0: 19.9 GiB/s" in heard.text(QAccessible.Text.Description)


def test_that_a_file_has_the_title_the_caption_and_every_figure(theme):
    file = PictureFile(pictures(made("copies"))[0], "on a card", theme.tokens, QSize(300, 200))
    written = file.svg().decode()
    for text in ("64 MiB", "on a card", "19.9", "GPU:3"):
        assert re.search(rf">\s*{re.escape(text)}\s*<", written), text
    image = QImage.fromData(file.png(), "png")
    assert (image.width(), image.height()) == (2 * file.size.width(), 2 * file.size.height())


def test_that_the_card_offers_every_picture_and_keeps_the_chosen_one(theme, qtbot):
    card = PictureCard(theme)
    qtbot.addWidget(card)
    both = pictures(made("all-reduce"))
    card.show_pictures(both)
    assert card.picture is both[0]
    chosen: list[str] = []
    card.chosen.connect(chosen.append)
    card.which.menu.actions()[1].trigger()
    assert (card.picture, chosen) == (both[1], ["Time, 4 devices"])
    assert card.title.text() == "Time, 4 devices"
    card.show_pictures(both, "Time, 4 devices")
    assert card.picture is both[1]
    card.show_pictures(pictures(made("launched")), "Time, 4 devices")
    assert card.picture.title == "Returned, and done"
    assert card.which.isHidden()


@pytest.mark.parametrize(
    ("axis", "names"),
    [
        (LogAxis(900, 7e7, "bytes"), ["1 KiB", "32 KiB", "1 MiB", "32 MiB"]),
        (LogAxis(9e-4, 1.1, "seconds"), ["1.00 ms", "10.0 ms", "100 ms", "1.00 s"]),
        (LogAxis(9e9, 3.2e10, "flops a second"), ["10 GFLOP/s", "20 GFLOP/s"]),
        (LogAxis(0.05, 2000, "flops a byte"), ["0.1", "1", "10", "100", "1,000"]),
        (LogAxis(1.5, 1.9, "bytes"), []),
    ],
    ids=range(5),
)
def test_that_axes_are_marked_at_round_values(axis, names):
    assert [name for _, name in axis.ticks(5)] == names


@pytest.mark.parametrize("most", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("unit", ["bytes", "seconds"])
def test_that_an_axis_has_few_marks_however_long_it_is(most, unit):
    for high in (10.0, 1e4, 1e12, 1e18):
        assert len(LogAxis(1.0, high, unit).ticks(most)) <= max(most, 2) + 2


def test_that_axes_hold_every_mark_and_the_top_of_every_line():
    picture = pictures(made("compute"))[0]
    x, y = curves.axes(picture)
    for curve in picture.curves:
        for mark in curve.marks:
            assert 0 < x.share(mark.x) < 1
            assert 0 < y.share(mark.low) <= y.share(mark.high) < 1
        assert y.share(curve.ceiling[-1][1]) < 1


def test_that_devices_have_the_colour_that_they_have_everywhere():
    assert [number_of(name) for name in ("GPU:2", "CPU:1", "host")] == [2, 1, HOST]


def test_that_one_bar_and_one_field_can_be_drawn(view):
    for picture in (
        Bars("one", (Bar("only", 0.0, "nothing"),)),
        Heat("empty", ("host",), "B/s"),
    ):
        view.show_picture(picture)
        assert not view.grab().toImage().isNull()
