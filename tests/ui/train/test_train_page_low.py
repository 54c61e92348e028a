"""The Train page in the smallest window.

Messages fold, and the plots keep a readable height and scroll.
"""

from __future__ import annotations

import pytest
from made_runs import Script, make_run
from PySide6.QtCore import Qt
from train_pages import opened

from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.train.body import LOW

WIDTH, LEAST_HEIGHT = 940, 624
READABLE = 60


@pytest.fixture
def page(qtbot, qapp):
    return opened(qtbot, ThemeManager("light"))


def show(qtbot, page, run, height=LEAST_HEIGHT):
    page.resize(WIDTH, height)
    page.show_run(run)
    qtbot.waitUntil(lambda: page.live_run.state is not None and not page.live_run.reading)
    qtbot.waitUntil(lambda: page.now.meters != [])


def heights(page) -> list[int]:
    return [plot.canvas.height() for plot in page.charts.plots if plot.isVisible()]


def seen(widget) -> int:
    """How much of its height is in sight, in pixels."""
    return widget.visibleRegion().boundingRect().height()


@pytest.fixture
def failed(runs_dir):
    return make_run(runs_dir, Script(devices=4, epochs=4, trained=3, ending="failed"))


def test_that_a_failure_is_one_line_beside_readable_plots_and_is_told_in_full_when_asked(
    qtbot, page, failed
) -> None:
    show(qtbot, page, failed)
    banner = page.outcome
    qtbot.waitUntil(lambda: banner.line.isVisible() and banner.height() < 60)
    assert not banner.suggestions.isVisible()
    assert len(heights(page)) == 3
    assert min(heights(page)) > READABLE
    assert banner.fold.text() == "What to do"
    qtbot.mouseClick(banner.fold, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: banner.suggestions.isVisible() and banner.height() > 70)
    assert not banner.line.isVisible()
    assert min(heights(page)) > READABLE
    qtbot.waitUntil(lambda: page.charts.verticalScrollBar().maximum() > 0)
    qtbot.mouseClick(banner.fold, Qt.MouseButton.LeftButton)
    assert banner.line.isVisible()


def test_that_where_there_is_nothing_to_do_nothing_folds(qtbot, page, runs_dir) -> None:
    show(qtbot, page, make_run(runs_dir, Script(epochs=4, trained=3, ending="stopped")))
    qtbot.waitUntil(lambda: page.outcome.message.isVisible())
    assert not page.outcome.fold.isVisible()
    assert page.outcome.height() < 60
    assert page.outcome.resume.width() < 120


def test_that_a_page_with_room_says_all_and_a_border_that_was_moved_stays(
    qtbot, page, failed
) -> None:
    show(qtbot, page, failed, LOW + 40)
    qtbot.waitUntil(lambda: page.outcome.suggestions.isVisible())
    assert not page.outcome.fold.isVisible()
    usual = page.details.height()
    page.resize(WIDTH, LEAST_HEIGHT)
    qtbot.waitUntil(lambda: page.outcome.fold.isVisible() and page.details.height() < usual)
    page.resize(WIDTH, LOW + 40)
    qtbot.waitUntil(lambda: page.details.height() == usual)
    page.body.split.setSizes([300, 220])
    page.body.split.splitterMoved.emit(0, 1)
    page.resize(WIDTH, LEAST_HEIGHT)
    qtbot.waitUntil(lambda: page.outcome.fold.isVisible())
    assert page.details.height() > usual


def test_that_tab_brings_a_plot_into_sight_from_beneath_it(qtbot, page, failed) -> None:
    show(qtbot, page, failed)
    qtbot.mouseClick(page.outcome.fold, Qt.MouseButton.LeftButton)
    bar = page.charts.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    assert bar.value() == 0
    page.charts.devices.canvas.setFocus(Qt.FocusReason.BacktabFocusReason)
    assert bar.value() > 0
    bar.setValue(0)
    page.charts.devices.canvas.clearFocus()
    page.charts.devices.canvas.setFocus(Qt.FocusReason.MouseFocusReason)
    assert bar.value() == 0


def test_that_sixteen_devices_stand_in_a_line_each_and_can_be_folded_for_the_figures(
    qtbot, page, runs_dir
) -> None:
    show(
        qtbot, page, make_run(runs_dir, Script(devices=16, epochs=4, trained=3, ending="completed"))
    )
    now = page.now
    qtbot.waitUntil(lambda: len(now.meters) == 16 and now.fold.isVisible())
    qtbot.waitUntil(
        lambda: {meter.height() for meter in now.meters} == {now.meters[0].height_if("line")}
    )
    assert (
        now.meters[0].height_if("line")
        < now.meters[0].height_if("dense")
        < now.meters[0].height_if("full")
    )
    before = seen(now.figures)
    assert before < 100
    qtbot.mouseClick(now.fold, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: seen(now.figures) > before + 100)
    assert not now.meters[0].isVisible()
    qtbot.mouseClick(now.fold, Qt.MouseButton.LeftButton)
    assert now.meters[0].isVisible()
