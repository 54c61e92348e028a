"""Mouse and keys on a plot beyond brush and wheel: panning, edges, following, menus, tooltips."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QHelpEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QToolTip

from gpu_studio.ui.kit.plots.axes import LINEAR, LOG
from gpu_studio.ui.kit.plots.backdrop import PlotMarks, PlotSpan
from gpu_studio.ui.kit.plots.canvas import ALL_HIDDEN, NONE_ABOVE_ZERO, SOME_NOT_ABOVE_ZERO
from gpu_studio.ui.kit.plots.curve import Style
from gpu_studio.ui.kit.plots.time_plot import TimePlot
from gpu_studio.ui.kit.plots.time_view import Extent, TimeView
from gpu_studio.ui.kit.theme import ThemeManager

NONE, SHIFT, CONTROL = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
)
LEFT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton


@pytest.fixture
def time(qapp):
    view = TimeView()
    view.set_extent(Extent(100.0, live=True))
    view.zoom(40.0, 60.0)
    return view


@pytest.fixture
def plot(qtbot, time):
    plot = TimePlot("Loss", ThemeManager("dark"), time)
    plot.add_curve("train", Style(lambda tokens: tokens.accent))
    qtbot.addWidget(plot)
    plot.resize(600, 240)
    with qtbot.waitExposed(plot):
        plot.show()
    x = np.linspace(0, 100.0, 5000)
    plot.feed("train", x, 2 + np.sin(x), 0.0)
    plot.draw_soon()
    return plot


def at(plot, place):
    return QPoint(
        round(plot.canvas.backdrop.x_of(place)), round(plot.canvas.backdrop.area.center().y())
    )


@pytest.mark.parametrize(("button", "modifier"), [(MIDDLE, NONE), (LEFT, SHIFT)])
def test_that_what_is_dragged_with_the_middle_button_or_shift_goes_with_the_pointer(
    qtbot, plot, time, button, modifier
):
    view = plot.canvas.viewport()
    first, last = at(plot, 50.0), at(plot, 55.0)
    qtbot.mousePress(view, button, modifier, first)
    qtbot.mouseMove(view, last)
    assert not plot.canvas.brushing
    qtbot.mouseRelease(view, button, modifier, last)
    assert (time.window.start, time.window.end) == (
        pytest.approx(35.0, abs=0.1),
        pytest.approx(55.0, abs=0.1),
    )
    qtbot.mouseMove(view, first)
    assert time.window.start == pytest.approx(35.0, abs=0.1), "let go"


def test_that_shift_and_the_wheel_pan(plot, time):
    where = QPointF(at(plot, 50.0))
    event = QWheelEvent(
        where, plot.canvas.mapToGlobal(where), QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton,
        SHIFT, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(plot.canvas.viewport(), event)
    assert (time.window.start, time.window.end) == (pytest.approx(42.0), pytest.approx(62.0))


def test_that_every_key_has_its_effect(qtbot, plot, time):
    def press(key, modifier=NONE):
        qtbot.keyClick(plot.canvas, key, modifier)
        return time.window.start, time.cursor

    assert press(Qt.Key.Key_Right, CONTROL)[0] == pytest.approx(42.0)
    assert press(Qt.Key.Key_Left, CONTROL)[0] == pytest.approx(40.0)
    assert press(Qt.Key.Key_PageUp)[0] == pytest.approx(24.0)
    assert press(Qt.Key.Key_PageDown)[0] == pytest.approx(40.0)
    assert press(Qt.Key.Key_Home)[1] == pytest.approx(40.0)
    assert press(Qt.Key.Key_Right)[1] == pytest.approx(40.2)
    assert press(Qt.Key.Key_Right, SHIFT)[1] == pytest.approx(42.2)
    assert press(Qt.Key.Key_End)[1] == pytest.approx(60.0)
    assert press(Qt.Key.Key_Escape)[1] is None
    assert not time.window.follow
    press(Qt.Key.Key_F)
    assert time.window.follow
    press(Qt.Key.Key_A)
    assert time.window.whole


def test_that_ctrl_c_asks_for_the_values_and_other_keys_are_left_alone(qtbot, plot):
    with qtbot.waitSignal(plot.canvas.copy_asked):
        qtbot.keyClick(plot.canvas, Qt.Key.Key_C, CONTROL)
    with qtbot.assertNotEmitted(plot.canvas.copy_asked):
        qtbot.keyClick(plot.canvas, Qt.Key.Key_C)


def test_that_the_right_button_and_the_menu_key_ask_for_the_menu(qtbot, plot):
    for reason in (QContextMenuEvent.Reason.Mouse, QContextMenuEvent.Reason.Keyboard):
        with qtbot.waitSignal(plot.canvas.menu_asked):
            QApplication.sendEvent(
                plot.canvas.viewport(), QContextMenuEvent(reason, QPoint(90, 50), QPoint(1, 2))
            )


def test_that_the_pointer_on_a_mark_is_told_what_it_is(qtbot, plot):
    marks = [PlotMarks("warning", np.array([50.0]), lambda number: "warning: input took 41 %")]
    plot.canvas.set_marks(
        marks, [PlotSpan("throttled", 52.0, 56.0, "power cap 14:02:10–14:02:18 · GPU:0")]
    )
    for place, words in (
        (50.0, "warning: input took 41 %"),
        (54.0, "power cap 14:02:10–14:02:18 · GPU:0"),
        (45.0, ""),
    ):
        where = at(plot, place)
        QApplication.sendEvent(
            plot.canvas.viewport(), QHelpEvent(QHelpEvent.Type.ToolTip, where, QPoint(5, 5))
        )
        if words:
            assert QToolTip.text() == words
    QToolTip.hideText()


def test_that_hidden_curves_are_not_drawn_and_leave_the_axis_to_the_others(qtbot, plot):
    plot.add_curve("other", Style(lambda tokens: tokens.bad))
    plot.feed("other", np.array([0.0, 100.0]), np.array([50.0, 50.0]), 0.0)
    plot.make_switchable(["other"])
    plot.draw_soon()
    assert plot.canvas.backdrop.high < 10
    plot.legend.toggle("other")
    assert plot.canvas.backdrop.high >= 50
    plot.legend.toggle("other")
    plot.legend.toggle("train")
    assert plot.canvas.backdrop.empty == ALL_HIDDEN


def test_that_a_logarithmic_axis_says_what_it_cannot_show(plot):
    plot.canvas.set_scale(LOG)
    for values, note, empty in (
        ([1.0, 0.0, 10.0], SOME_NOT_ABOVE_ZERO, ""), ([0.0, -1.0, 0.0], "", NONE_ABOVE_ZERO),
        ([1.0, 2.0, 3.0], "", ""),
    ):  # fmt: skip
        plot.feed("train", np.array([45.0, 50.0, 55.0]), np.array(values), 0.0)
        plot.draw_soon()
        assert (plot.canvas.backdrop.note, plot.canvas.backdrop.empty) == (note, empty)
    plot.canvas.set_scale(LINEAR)
    plot.feed("train", np.array([45.0, 50.0]), np.array([0.0, -1.0]), 0.0)
    plot.draw_soon()
    assert plot.canvas.backdrop.note == ""


@pytest.mark.parametrize("smoothing", [0.0, 0.6])
def test_that_a_curve_is_broken_where_it_is_no_number(plot, smoothing):
    curve = plot.curves[0]
    curve.breaks, curve.smoothing = True, smoothing
    x = np.linspace(40, 60, 2001)
    y = np.where((x > 49) & (x < 51), np.nan, 1.0 + x / 100)
    plot.feed("train", x, y, 0.0)
    plot.draw_soon()
    places, _, joined = curve.strokes
    (gap,) = np.flatnonzero(~joined[:-1])
    assert places[gap] == pytest.approx(49.0, abs=0.15)
    assert places[gap + 1] == pytest.approx(51.0, abs=0.15)
    curve.breaks = False
    plot.draw_soon()
    assert curve.strokes[2].all()
