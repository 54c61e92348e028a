"""A plot as a picture of its own.

Real lines in SVG, twice the pixels in PNG, and only what is shown.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PySide6.QtCore import QByteArray
from PySide6.QtGui import QImage
from PySide6.QtSvg import QSvgRenderer

from gpu_studio.ui.kit.plots.curve import Style
from gpu_studio.ui.kit.plots.legend import LegendEntry
from gpu_studio.ui.kit.plots.time_plot import PlotPicture, TimePlot
from gpu_studio.ui.kit.plots.time_view import Extent, TimeView
from gpu_studio.ui.kit.theme import DARK, ThemeManager

TRAIN = Style(lambda tokens: tokens.accent)
VALIDATION = Style(lambda tokens: tokens.devices[1], dots=True)


@pytest.fixture
def plot(qtbot):
    time = TimeView()
    time.set_extent(Extent(100.0, live=False))
    plot = TimePlot("Loss", ThemeManager("dark"), time)
    time.setParent(plot)
    for name, style in (("train", TRAIN), ("validation", VALIDATION)):
        plot.add_curve(name, style)
    qtbot.addWidget(plot)
    plot.resize(400, 150)
    with qtbot.waitExposed(plot):
        plot.show()
    x = np.linspace(0, 100.0, 300)
    plot.feed("train", x, 2 + np.sin(x / 9), 0.0, longest_gap=1.0)
    plot.feed("validation", x[::50], 2 + np.cos(x[::50] / 9), 0.0)
    plot.draw_soon()
    return plot


@pytest.fixture
def picture(plot):
    return PlotPicture(
        "Loss", "digits · begun 2026-11-20", plot.canvas, [LegendEntry("train", TRAIN, "0.1310")]
    )


def elements(picture, name):
    return ElementTree.fromstring(picture.svg()).iter(f"{{http://www.w3.org/2000/svg}}{name}")


def lines_of(picture, colour):
    """How many points each curve of this colour has; a piece of line in the legend has two."""
    found = []
    for group in elements(picture, "g"):
        lines = [child for child in group if child.tag.endswith("polyline")]
        if group.get("stroke") == colour:
            found += [len(line.get("points").split()) for line in lines]
    return [count for count in found if count > 2]


def test_that_an_svg_holds_every_curve_as_a_line_and_every_word_as_text(plot, picture):
    assert lines_of(picture, DARK.accent) == [300]
    assert lines_of(picture, DARK.devices[1]) == [6]
    words = " ".join("".join(element.itertext()) for element in elements(picture, "text"))
    for told in ("Loss", "train 0.1310", "digits · begun 2026-11-20", "1 min 30 s"):
        assert told in words
    assert not list(elements(picture, "image"))
    renderer = QSvgRenderer(QByteArray(picture.svg()))
    assert renderer.isValid()
    assert renderer.viewBox().size() == picture.size


def test_that_a_broken_curve_is_two_lines_and_a_hidden_one_is_none(plot, picture):
    x = np.concatenate((np.linspace(0, 40, 120), np.linspace(60, 100, 120)))
    plot.feed("train", x, np.ones(240), 0.0, longest_gap=1.0)
    plot.make_switchable(["validation"])
    plot.draw_soon()
    assert lines_of(picture, DARK.accent) == [120, 120]
    assert lines_of(picture, DARK.devices[1]) == []


def test_that_a_png_has_two_pixels_for_one_and_is_large_enough_to_be_looked_at_alone(plot, picture):
    image = QImage.fromData(picture.png())
    assert image.size() == picture.size * 2
    assert picture.size.width() >= 720
    assert picture.size.height() >= 320
    assert plot.canvas.width() < 720
    colours = {
        image.pixelColor(x, y).name()
        for x in range(0, image.width(), 3)
        for y in range(image.height())
    }
    assert {DARK.accent, DARK.surface} <= colours


def test_that_the_picture_leaves_the_plot_as_it_was(plot, picture):
    before = (plot.canvas.backdrop.area, plot.canvas.backdrop.times_shown, plot.redraws)
    picture.png()
    assert (plot.canvas.backdrop.area, plot.canvas.backdrop.times_shown, plot.redraws) == before
