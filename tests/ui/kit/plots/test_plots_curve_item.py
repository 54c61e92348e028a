from __future__ import annotations

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPainter, QPen
from PySide6.QtWidgets import QApplication, QGraphicsItem, QGraphicsScene
from pytestqt.qtbot import QtBot

from gpu_studio.runs.reading.series import Array
from gpu_studio.ui.kit.plots.axes import LINEAR, StepRuler
from gpu_studio.ui.kit.plots.curve import PlotCurve, draw_all
from gpu_studio.ui.kit.plots.curve_item import CurveItem
from gpu_studio.ui.kit.plots.reduce import AxisView, Flags
from gpu_studio.ui.kit.plots.time_plot import TimePlot
from gpu_studio.ui.kit.plots.time_view import Extent, TimeView, TimeWindow
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.train.training_plots import STEPS, TRAIN

START = 1_800_000_000.0
PLACES = np.linspace(0.0, 200.0, 300)
HEIGHTS = 50 + 40 * np.sin(PLACES)
WHOLE = np.ones(300, dtype=np.bool_)
BROKEN = WHOLE.copy()
BROKEN[[3, 100, 101]] = False


def pen(width: float, dash: tuple[float, ...]) -> QPen:
    """A pen as a curve's style makes it."""
    made = QPen(Qt.GlobalColor.red, width)
    made.setCosmetic(True)
    if dash:
        made.setDashPattern(list(dash))
    return made


def picture(item: QGraphicsItem) -> QImage:
    """How a scene with this item alone is painted."""
    scene = QGraphicsScene(0, 0, 200, 100)
    scene.addItem(item)
    image = QImage(200, 100, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    scene.render(painter)
    painter.end()
    scene.removeItem(item)
    return image


@pytest.mark.parametrize("joined", [WHOLE, BROKEN], ids=["whole", "broken"])
@pytest.mark.parametrize("dash", [(), (7.0, 4.0)], ids=["solid", "dashed"])
@pytest.mark.parametrize("width", [1.0, 2.0])
def test_that_a_line_looks_as_pyqtgraph_draws_it_to_the_pixel(
    qapp: QApplication, width: float, dash: tuple[float, ...], joined: Flags
) -> None:
    line = CurveItem()
    line.set_pen(pen(width, dash))
    line.set_strokes(PLACES, HEIGHTS, joined)
    known = pg.PlotCurveItem(PLACES, HEIGHTS, connect=joined.astype(np.int32))
    known.setPen(pen(width, dash))
    mine = picture(line)
    assert mine == picture(known)
    assert mine != picture(CurveItem())


def test_that_an_invisible_edge_is_no_line(qapp: QApplication) -> None:
    line = CurveItem()
    line.set_pen(QPen(Qt.PenStyle.NoPen))
    line.set_strokes(PLACES, HEIGHTS, WHOLE)
    assert picture(line) == picture(CurveItem())


@pytest.mark.parametrize("points", [0, 1])
def test_that_a_line_of_too_few_points_is_none(qapp: QApplication, points: int) -> None:
    line = CurveItem()
    line.set_pen(pen(1.0, ()))
    line.set_strokes(PLACES[:points], HEIGHTS[:points], WHOLE[:points])
    assert picture(line) == picture(CurveItem())


def test_that_a_line_is_made_once_however_often_it_is_painted(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = TimeView()
    time.set_extent(Extent(100.0, live=False))
    plot = TimePlot("Loss", ThemeManager("dark"), time)
    qtbot.addWidget(plot)
    for name, style in (("steps", STEPS), ("train", TRAIN)):
        plot.add_curve(name, style)
        plot.feed(name, START + np.arange(100.0), np.arange(100.0), START)
    made: list[Array] = []
    real = pg.arrayToQPath

    def counted(x: Array, y: Array, *more: object, **named: object) -> object:
        made.append(x)
        return real(x, y, *more, **named)

    monkeypatch.setattr(pg, "arrayToQPath", counted)
    plot.resize(600, 240)
    with qtbot.waitExposed(plot):
        plot.show()
    plot.draw_soon()
    plot.grab()
    made.clear()
    plot.draw_soon()
    for _ in range(3):
        plot.grab()
    assert len(made) == 2


def test_that_the_axis_is_asked_once_for_the_places_of_all_curves_that_are_drawn() -> None:
    asked: list[Array] = []

    class Counted(StepRuler):
        def places(self, seconds: Array) -> Array:
            asked.append(seconds)
            return StepRuler.places(self, seconds)

    steps = np.arange(1000.0)
    ruler = Counted(kind="step", times=START + steps**1.1, steps=steps, origin=START, first=0.0)
    view = AxisView(TimeWindow(0.0, 1000.0), 400, ruler)
    random = np.random.default_rng(7)
    curves = [PlotCurve(STEPS) for _ in range(8)]
    for number, curve in enumerate(curves):
        times = START + np.sort(random.uniform(0, 1900, 100 * number))
        curve.set_series(times, random.random(len(times)), START)
    together = draw_all(curves, view, LINEAR)
    assert len(asked) == 1
    drawn = [curve.strokes for curve in curves]
    assert [len(places) > 0 for places, _, _ in drawn] == [number > 0 for number in range(8)]
    assert [curve.draw(view, LINEAR) for curve in curves] == together
    for before, curve in zip(drawn, curves, strict=True):
        for mine, alone in zip(before, curve.strokes, strict=True):
            np.testing.assert_array_equal(mine, alone)
