from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget

from gpu_studio.runs.reading.series import Near, Series
from gpu_studio.ui.kit.plots import time_plot
from gpu_studio.ui.kit.plots.axes import LINEAR, LOG, PERCENT
from gpu_studio.ui.kit.plots.backdrop import LANE, Limit, PlotMarks
from gpu_studio.ui.kit.plots.curve import Style
from gpu_studio.ui.kit.plots.legend import LegendEntry
from gpu_studio.ui.kit.plots.reduce import smooth
from gpu_studio.ui.kit.plots.time_plot import PlotPicture, TimePlot
from gpu_studio.ui.kit.plots.time_view import Extent, TimeView
from gpu_studio.ui.kit.theme import DARK, LIGHT, ThemeManager

RUN = 100.0
START = 1_800_000_000.0


def accent(tokens):
    return tokens.accent


@pytest.fixture
def theme(qapp):
    return ThemeManager("dark")


@pytest.fixture
def time(qapp):
    view = TimeView()
    view.set_extent(Extent(RUN, live=False))
    return view


@pytest.fixture
def plot(qtbot, theme, time):
    plot = TimePlot("Loss", theme, time)
    plot.add_curve("train", Style(accent))
    qtbot.addWidget(plot)
    plot.resize(600, 240)
    with qtbot.waitExposed(plot):
        plot.show()
    x = np.linspace(START, START + RUN, 50_000)
    plot.feed("train", x, 2 + np.sin(x), START)
    plot.draw_soon()
    return plot


def marked(**moments):
    """Marks of these kinds at these moments."""
    return [
        PlotMarks(kind, np.array(times), lambda number, kind=kind: f"{kind} {number}")
        for kind, times in moments.items()
    ]


def drawn(plot):
    """The points of the plot's only curve, as they were handed to the painter."""
    return plot.canvas.curves[0].strokes[:2]


def at(plot, moment):
    """Where a moment lies on the canvas."""
    return QPoint(
        round(plot.canvas.backdrop.x_of(moment)), round(plot.canvas.backdrop.area.center().y())
    )


def wheel(plot, moment, turn):
    where = QPointF(at(plot, moment))
    event = QWheelEvent(
        where, plot.canvas.mapToGlobal(where), QPoint(), turn, Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(plot.canvas.viewport(), event)


def drag(qtbot, plot, start, end):
    view = plot.canvas.viewport()
    qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=at(plot, start))
    qtbot.mouseMove(view, at(plot, (start + end) / 2))
    shown = plot.canvas.brushing
    qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=at(plot, end))
    return shown


def test_that_a_long_curve_is_drawn_in_two_points_a_pixel_at_most(plot):
    x, y = drawn(plot)
    assert 500 < len(x) <= 2 * plot.canvas.columns + 2
    assert (x[0], x[-1]) == (0.0, pytest.approx(RUN))
    assert y.max() == pytest.approx(3.0, abs=1e-4)


def test_that_a_zoom_draws_the_part_that_is_seen_in_full(plot, time):
    time.zoom(40.0, 41.0)
    x, _ = drawn(plot)
    assert len(x) >= 500
    assert 39.9 < x[0] <= 40.0
    assert 41.0 <= x[-1] < 41.1


def test_that_points_are_dotted_where_they_stand_apart_and_only_there(plot, time):
    epochs = plot.add_curve("epochs", Style(accent, dots=True))
    places = np.linspace(1.0, 3.0, 20)
    plot.feed("epochs", START + places * RUN / 4, places, START)
    plot.draw_soon()
    assert epochs.dots
    plot.feed("epochs", START + places, places, START)
    plot.draw_soon()
    assert not epochs.dots, "twenty dots in a fiftieth of the axis are a blot"
    time.zoom(1.0, 3.0)
    assert epochs.dots, "from near they stand apart"
    plot.feed("epochs", START + places[:1], places[:1], START)
    plot.draw_soon()
    assert epochs.dots, "one alone would be nothing without its dot"


def test_that_brushing_zooms_to_what_was_brushed(qtbot, plot, time):
    assert drag(qtbot, plot, 20.0, 60.0)
    assert time.window.start == pytest.approx(20.0, abs=0.3)
    assert time.window.end == pytest.approx(60.0, abs=0.3)
    assert not plot.canvas.brushing


def test_that_a_click_that_trembles_does_not_zoom(qtbot, plot, time):
    before = time.window
    assert not drag(qtbot, plot, 20.0, 20.3)
    assert time.window == before


def test_that_a_double_click_shows_all_again(qtbot, plot, time):
    time.zoom(20.0, 60.0)
    qtbot.mouseDClick(plot.canvas.viewport(), Qt.MouseButton.LeftButton, pos=at(plot, 30.0))
    assert time.window.whole


def test_that_the_wheel_zooms_about_the_pointer_and_pans_sideways(plot, time):
    wheel(plot, 50.0, QPoint(0, 240))
    assert time.window.span < 0.7 * RUN
    assert time.window.start < 50.0 < time.window.end
    before = time.window
    wheel(plot, 50.0, QPoint(-120, 0))
    assert time.window.start > before.start
    assert time.window.span == pytest.approx(before.span)


def test_that_the_pointer_moves_the_crosshair_of_every_plot(qtbot, theme, plot, time):
    other = TimePlot("Memory", theme, time)
    qtbot.addWidget(other)
    other.resize(400, 200)
    other.show()
    qtbot.mouseMove(plot.canvas.viewport(), at(plot, 30.0))
    assert time.cursor == pytest.approx(30.0, abs=0.3)
    for canvas in (plot.canvas, other.canvas):
        assert canvas.crosshair is not None
        assert canvas.crosshair == pytest.approx(canvas.backdrop.x_of(30.0), abs=1.5)
    time.move_cursor(None)
    assert other.canvas.crosshair is None


def test_that_the_keys_do_what_the_mouse_does(qtbot, plot, time):
    canvas = plot.canvas
    qtbot.keyClick(canvas, Qt.Key.Key_Left)
    first = time.cursor
    qtbot.keyClick(canvas, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert time.cursor < first - 9.0
    qtbot.keyClick(canvas, Qt.Key.Key_Plus)
    qtbot.keyClick(canvas, Qt.Key.Key_Plus)
    zoomed = time.window.span
    assert zoomed < 0.7 * RUN
    qtbot.keyClick(canvas, Qt.Key.Key_Minus)
    assert time.window.span > zoomed
    qtbot.keyClick(canvas, Qt.Key.Key_0)
    assert time.window.whole
    qtbot.keyClick(canvas, Qt.Key.Key_Escape)
    assert time.cursor is None


def test_that_nothing_is_drawn_while_hidden_and_all_that_came_when_shown_again(qtbot, plot):
    plot.hide()
    before = plot.redraws
    plot.feed("train", np.array([START, START + 1]), np.array([5.0, 6.0]), START)
    plot.refresh()
    plot.draw_soon()
    assert plot.redraws == before
    plot.show()
    assert plot.redraws == before + 1
    assert drawn(plot)[1].tolist() == [5.0, 6.0]


def test_that_a_refresh_without_anything_new_draws_nothing(plot):
    before = plot.redraws
    for _ in range(50):
        plot.refresh()
    assert plot.redraws == before


def test_that_new_points_wait_until_it_is_time_to_draw(qtbot, plot, monkeypatch):
    before = plot.redraws
    monkeypatch.setattr(time_plot, "_SOONEST_MS", 1e8)
    monkeypatch.setattr(time_plot, "_LATEST_MS", 1e8)
    plot.feed("train", np.array([START, START + 1]), np.array([5.0, 6.0]), START)
    plot.refresh()
    assert plot.redraws == before
    for name in ("_SOONEST_MS", "_LATEST_MS"):
        monkeypatch.setattr(time_plot, name, 1.0)

    def drawn_again():
        plot.refresh()
        return plot.redraws == before + 1

    qtbot.waitUntil(drawn_again)


def test_that_a_series_that_grows_is_drawn_without_being_fed_again(qtbot, plot, monkeypatch):
    for name in ("_SOONEST_MS", "_LATEST_MS"):
        monkeypatch.setattr(time_plot, name, 1.0)
    series = Series("time", "loss", by="loss", along="time")
    plot.feed_series("train", series, START)

    def values():
        plot.refresh()
        return drawn(plot)[1].tolist()

    series.add([START, START + 1], [5.0, 6.0])
    qtbot.waitUntil(lambda: values() == [5.0, 6.0])
    series.add(START + 2, 7.0)
    qtbot.waitUntil(lambda: values() == [5.0, 6.0, 7.0])


def test_that_a_curve_has_grown_by_what_its_series_has_and_its_picture_has_not(plot):
    series, closer = (Series("time", "loss", by="loss", along="time") for _ in range(2))
    curve = plot.curve_called("train")
    series.add([START, START + 10], [5.0, 6.0])
    plot.feed_series("train", series, START)
    plot.draw_soon()
    assert not curve.grown
    closer.add([START + 4, START + 5], [1.0, 2.0])
    series.near = Near(START + 4, START + 5, closer)
    assert curve.grown
    plot.draw_soon()
    assert not curve.grown
    assert drawn(plot)[1].tolist() == [5.0, 1.0, 2.0, 6.0]
    curve.show(False)
    series.add(START + 11, 7.0)
    assert not curve.grown, "nobody sees it"
    assert curve.series[1].tolist() == [5.0, 1.0, 2.0, 6.0, 7.0]


def test_that_another_series_as_long_as_the_one_before_is_drawn(plot):
    """As where a run's curve takes the place of what was read of it ahead."""
    one, other = (Series("time", "loss", by="loss", along="time") for _ in range(2))
    one.add([START, START + 1], [5.0, 6.0])
    other.add([START, START + 1], [7.0, 8.0])
    plot.feed_series("train", one, START)
    plot.draw_soon()
    plot.feed_series("train", other, START)
    assert plot.curve_called("train").grown
    plot.draw_soon()
    assert drawn(plot)[1].tolist() == [7.0, 8.0]
    assert not plot.curve_called("train").grown


def test_that_new_points_in_the_same_ranges_leave_the_backdrop_as_it_was_painted(
    qtbot, plot, monkeypatch
):
    painted = []
    paint = type(plot.canvas.backdrop).paint
    monkeypatch.setattr(
        type(plot.canvas.backdrop), "paint", lambda *given: painted.append(1) or paint(*given)
    )
    x = np.linspace(START, START + RUN, 1000)
    plot.feed("train", x, 2 + np.cos(x), START)
    plot.draw_soon()
    plot.canvas.viewport().repaint()
    assert painted == []
    plot.canvas.set_marks(marked(epoch=[5.0]))
    plot.canvas.viewport().repaint()
    assert painted


def test_that_new_names_in_the_legend_have_their_room_before_the_next_frame(plot):
    """A resumed run names an earlier one: the frame before the next layout said "train +1"."""
    for names in (["train"], ["train", "earlier run"], ["train", "validation", "earlier run"]):
        plot.set_legend([LegendEntry(name, Style(accent), "0.1234") for name in names])
        assert [place.words for place in plot.legend.places()] == [
            f"{name} 0.1234" for name in names
        ]


def colours(widget: QWidget) -> set[str]:
    image = widget.grab().toImage()
    return {
        image.pixelColor(x, y).name()
        for x in range(0, image.width(), 2)
        for y in range(image.height())
    }


def test_that_another_theme_recolours_curves_and_backdrop_at_once(plot, theme):
    assert {DARK.accent, DARK.surface, DARK.line} <= colours(plot.canvas)
    theme.set_mode("light")
    after = colours(plot.canvas)
    assert {LIGHT.accent, LIGHT.surface, LIGHT.line} <= after
    assert DARK.accent not in after


def test_that_marks_and_limits_are_painted_in_their_colours(plot):
    plot.canvas.set_marks(marked(warning=[25.0], error=[75.0], checkpoint=[50.0]))
    plot.canvas.set_limits([Limit(2.5, "limit")])
    plot.draw_soon()
    assert {DARK.warning, DARK.bad} <= colours(plot.canvas)


def test_that_marks_too_near_to_each_other_are_drawn_once(plot):
    backdrop = plot.canvas.backdrop
    (warnings, outside) = marked(warning=np.linspace(0.0, RUN, 5000), error=[-5.0, 200.0])
    assert 10 < len(backdrop.pixels_of(warnings)) <= backdrop.area.width() / 8 + 1
    assert len(backdrop.pixels_of(outside)) == 0


def test_that_of_many_epochs_a_round_share_is_marked_and_it_stands_evenly(plot):
    backdrop = plot.canvas.backdrop
    (epochs,) = marked(epoch=np.arange(1.0, 1000.0) / 10)
    pixels = backdrop.pixels_of(epochs)
    assert np.diff(pixels) == pytest.approx(np.diff(pixels)[0])
    assert np.diff(pixels)[0] >= 16
    assert backdrop.place_at(pixels[0]) == pytest.approx(5.0), "of 999 epochs each fiftieth"


def test_that_a_limit_is_made_room_for(plot):
    plot.canvas.set_limits([Limit(40.0, "limit 40")])
    plot.draw_soon()
    assert plot.canvas.backdrop.high >= 40.0


def test_that_a_limit_far_above_is_named_at_the_upper_edge_and_takes_no_room(plot):
    before = plot.canvas.backdrop.high
    plot.canvas.set_limits([Limit(4000.0, "limit 4000", above=True)])
    plot.draw_soon()
    assert plot.canvas.backdrop.high == before
    named = colours(plot.canvas)
    assert DARK.bad not in named
    assert DARK.muted in named


def test_that_a_band_is_filled_from_a_curve_down_to_another_as_far_as_that_is_known(plot):
    plain = plot.curve_called("train").style
    plot.show_curves({"least": replace(plain, line=False), "most": plain})
    times = START + np.arange(10.0)
    plot.feed("least", times[5:], np.full(5, 2.0), START)
    plot.feed("most", times, np.full(10, 6.0), START)
    plot.enclose("most", "least")
    plot.enclose("most", "least")
    plot.draw_soon()
    ((places, heights),) = plot.curve_called("most").outline
    assert (places.min(), places.max()) == (5.0, 9.0)
    assert sorted(set(heights.tolist())) == [2.0, 6.0]
    assert not plot.curve_called("least").items[0].pen.style().value
    assert b'fill-opacity="0.14' in PlotPicture("Memory", "", plot.canvas).svg()
    plot.feed("least", times[:0], times[:0], START)
    plot.draw_soon()
    assert plot.curve_called("most").outline == []


def test_that_a_logarithmic_axis_leaves_out_what_has_no_logarithm(plot):
    plot.canvas.set_scale(LOG)
    plot.feed("train", START + np.arange(4.0), np.array([100.0, 0.0, -1.0, 0.1]), START)
    plot.draw_soon()
    assert drawn(plot)[1].tolist() == [2.0, -1.0]


def test_that_a_curve_of_no_numbers_is_drawn_as_nothing(plot):
    plot.feed("train", START + np.arange(3.0), np.full(3, np.nan), START)
    plot.draw_soon()
    assert len(drawn(plot)[0]) == 0
    assert plot.canvas.backdrop.low < plot.canvas.backdrop.high


def test_that_a_smoothed_curve_does_not_depend_on_where_the_view_begins(plot, time):
    curve = plot.canvas.curves[0]
    curve.smoothing = 0.9
    x = START + np.linspace(0, RUN, 20_000)
    plot.feed("train", x, np.linspace(0, 100, 20_000) % 7, START)
    time.zoom(20.0, 60.0)
    whole = np.interp([50.0], *drawn(plot))
    time.zoom(40.0, 80.0)
    assert np.interp([50.0], *drawn(plot)) == pytest.approx(whole, abs=0.05)


def test_that_a_smoothed_curve_does_not_depend_on_the_width_of_the_plot_or_of_the_axis(plot, time):
    plot.canvas.curves[0].smoothing = 0.9
    x = START + np.arange(400.0) * RUN / 400
    losses = np.where(np.arange(400) < 4, 9.0, 1.0 + 0.1 * (np.arange(400) % 3))
    plot.feed("train", x, losses, START)
    expected = smooth(losses, 0.9)
    for width in (1200, 300):
        plot.resize(width, 200)
        plot.draw_soon()
        at, height = drawn(plot)
        places = np.round(at * 400 / RUN).astype(int)
        np.testing.assert_allclose(height, expected[places])


def test_that_dots_are_drawn_only_where_they_stand_apart(theme, qtbot, time):
    plot = TimePlot("Accuracy", theme, time)
    curve = plot.add_curve("validation", Style(accent, dots=True))
    qtbot.addWidget(plot)
    plot.resize(600, 200)
    plot.show()
    for count, dots in ((10, 10), (5000, 0)):
        plot.feed("validation", START + np.linspace(0, RUN, count), np.ones(count), START)
        plot.draw_soon()
        assert curve.dots == dots


def test_that_forgetting_leaves_the_curves_without_points_and_clearing_without_curves(plot):
    plot.forget()
    assert len(drawn(plot)[0]) == 0
    plot.clear()
    assert plot.names == []
    assert plot.legend.entries == ()


def test_that_the_focus_is_seen_when_it_came_by_the_keyboard(qtbot, plot):
    plot.canvas.set_marks(marked(checkpoint=[50.0]))
    plot.canvas.clearFocus()
    plot.canvas.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(plot.canvas.hasFocus)
    edge = plot.canvas.backdrop.area.topLeft().toPoint()
    seen = plot.canvas.grab().toImage()
    assert seen.pixelColor(edge) == QColor(DARK.accent)
    assert seen.pixelColor(edge + QPoint(3, 3)) == QColor(DARK.surface)
    plot.canvas.clearFocus()
    assert plot.canvas.grab().toImage().pixelColor(edge) != QColor(DARK.accent)


def test_that_the_first_steps_do_not_rule_the_axis_and_are_told_of(plot, time):
    losses = np.where(np.arange(400) < 3, 2.3, 0.01 + 0.01 * np.cos(np.arange(400)) ** 2)
    plot.feed("train", START + np.arange(400.0) * RUN / 400, losses, START)
    plot.draw_soon()
    assert plot.canvas.backdrop.high > 2
    plot.canvas.curves[0].forgives_the_start = True
    plot.draw_soon()
    assert plot.canvas.backdrop.high < 0.1
    assert plot.canvas.backdrop.note == "the first steps reach 2.3"
    plot.canvas.set_scale(LOG)
    plot.draw_soon()
    assert plot.canvas.backdrop.note == ""
    plot.canvas.set_scale(LINEAR)
    time.zoom(0.0, 1.5)
    assert plot.canvas.backdrop.high > 2, "from near they are what one looks at"


def test_that_an_epoch_of_twenty_does_not_rule_the_axis_of_the_starter_plan(plot):
    steps = np.arange(460)
    plot.canvas.curves[0].forgives_the_start = True
    plot.feed("train", START + steps * RUN / 460, 0.1 + 2.2 * np.exp(-steps / 10), START)
    plot.draw_soon()
    assert plot.canvas.backdrop.high < 0.6
    assert plot.canvas.backdrop.note == "the first steps reach 2.3"


def test_that_a_loss_that_falls_all_along_is_shown_whole(plot):
    plot.canvas.curves[0].forgives_the_start = True
    plot.feed(
        "train", START + np.arange(400.0) * RUN / 400, 2.3 * np.exp(-np.arange(400) / 100), START
    )
    plot.draw_soon()
    assert plot.canvas.backdrop.high > 2
    assert plot.canvas.backdrop.note == ""


@pytest.mark.parametrize("kind", ["epoch", "checkpoint", "best", "rate"])
def test_that_marks_of_progress_lie_below_the_curves(plot, kind):
    area = plot.canvas.backdrop.area.toRect()
    before = plot.canvas.grab().toImage()
    plot.canvas.set_marks(marked(**{kind: [50.0]}))
    after = plot.canvas.grab().toImage()
    changed = [
        y
        for y in range(before.height())
        for x in range(before.width())
        if before.pixel(x, y) != after.pixel(x, y)
    ]
    assert changed
    assert area.bottom() < min(changed)
    assert max(changed) <= area.bottom() + LANE + 1


@pytest.mark.parametrize("height", [163, 164, 165, 166, 240])
def test_that_a_line_along_the_top_of_the_plot_is_seen_at_any_height(plot, height):
    plot.resize(600, height)
    plot.canvas.set_scale(PERCENT)
    plot.feed("train", START + np.arange(100.0), np.full(100, 100.0), START)
    plot.draw_soon()
    image, area = plot.canvas.grab().toImage(), plot.canvas.backdrop.area.toRect()
    column = [
        image.pixelColor(area.center().x(), y).name() for y in range(area.top() - 2, area.top() + 3)
    ]
    assert QColor(DARK.accent).name() in column


@pytest.mark.parametrize("value", [0.0, 100.0])
def test_that_dots_at_the_edges_of_the_plot_are_whole(plot, value):
    plot.clear()
    plot.add_curve("validation", Style(accent, dots=True))
    plot.canvas.set_scale(PERCENT)
    at = START + np.linspace(10.0, RUN - 10.0, 5)

    plot.draw_soon()
    empty = plot.canvas.grab().toImage()

    def height_of_dot(height: float) -> int:
        """How many rows of pixels the dot in the middle of the axis takes at this height."""
        plot.feed("validation", at, np.full(5, height), START)
        plot.draw_soon()
        image, x = plot.canvas.grab().toImage(), plot.canvas.backdrop.area.center().toPoint().x()
        return max(
            sum(
                empty.pixel(column, y) != image.pixel(column, y)
                and image.pixelColor(column, y).blue() > 120
                for y in range(image.height())
            )
            for column in range(x - 6, x + 7)
        )

    assert height_of_dot(value) == height_of_dot(50.0) > 2


def test_that_dots_that_are_not_drawn_cost_no_frame_and_come_back_with_their_curve(plot):
    plot.show_curves({"ends": Style(accent, dots=True)})
    curve = plot.curve_called("ends")
    _, dots = curve.items
    plot.draw_soon()
    assert not dots.isVisible()
    times = START + np.arange(0.0, RUN, 10.0)
    plot.feed("ends", times, np.ones(len(times)), START)
    plot.draw_soon()
    assert dots.isVisible()
    assert curve.dots == len(times)
    curve.show(False)
    assert not dots.isVisible()
    curve.show(True)
    assert dots.isVisible()
    dense = START + np.linspace(0.0, RUN, 50_000)
    plot.feed("ends", dense, np.ones(len(dense)), START)
    plot.draw_soon()
    assert not dots.isVisible()
