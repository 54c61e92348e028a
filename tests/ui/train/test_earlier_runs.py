"""What a resumed run goes on from, before its own first step in the plots of the Train page."""

from __future__ import annotations

import shutil
from dataclasses import replace

import msgspec
import numpy as np
import pytest
import train_pages
from made_runs import Script, make_resumed, make_run, tell
from PySide6.QtGui import QGuiApplication

from gpu_studio.contract import events
from gpu_studio.runs.lineage import in_training_time, inherited_events
from gpu_studio.ui.train.readout import IN_EARLIER
from gpu_studio.ui.train.training_plots import EARLIER, EARLIER_VALIDATION

FIRST = Script(devices=2, trained=3.5, epochs=6, ending="stopped", ago=100_000.0)
SECOND = replace(FIRST, trained=5.0, resumed_at=3, ago=0.0)


@pytest.fixture
def parent(runs_dir):
    """A run of 700 steps, long ago."""
    return make_run(runs_dir, FIRST)


@pytest.fixture
def run(parent):
    """A run that went on from the parent's step 600, and trained 400 steps."""
    return make_resumed(parent, SECOND)


@pytest.fixture
def page(qtbot, theme, settings):
    return train_pages.opened(qtbot, theme, settings)


@pytest.fixture
def show(qtbot, page):
    """Show a run and wait until what it goes on from is there."""

    def show_run(run, axis="step"):
        page.show_run(run)
        charts = page.charts
        charts.set_axis(axis)
        qtbot.waitUntil(lambda: page.live_run.state is not None and not page.live_run.reading)
        qtbot.waitUntil(lambda: charts.earlier_runs is not None and not charts.earlier_runs.reading)
        charts.refresh(page.live_run)
        charts.draw()
        return charts

    return show_run


def drawn(plot, name):
    return plot.curve_called(name).strokes[:2]


def names(plot):
    return [entry.name for entry in plot.legend.entries]


def test_that_a_resumed_run_begins_with_the_curve_of_the_run_that_it_went_on_from(show, run):
    charts = show(run)
    places, _ = drawn(charts.loss, EARLIER)
    assert (places[0], places[-1]) == (-599.0, 0.0), (
        "up to the step that it was resumed at, and no further"
    )
    assert drawn(charts.loss, "steps")[0][0] == 1.0
    assert charts.time.window.start == -600.0
    assert charts.devices.canvas.backdrop.ruler.ticks(-600.0, 400.0, 5)[0] == (-600.0, "step 0")
    assert drawn(charts.loss, EARLIER_VALIDATION)[0].tolist() == [-400.0, -200.0, 0.0]
    assert drawn(charts.metrics, "earlier train")[0].tolist() == [-400.0, -200.0, 0.0]
    assert names(charts.loss) == ["train", "validation", EARLIER]


@pytest.mark.parametrize(
    ("axis", "begin", "first"), [("epoch", -3.0, 1 / 200), ("time", -5.88, 0.0)]
)
def test_that_by_every_axis_the_earlier_run_lies_before_the_run_s_first_step(
    show, run, axis, begin, first
):
    charts = show(run, axis)
    assert charts.time.window.start == pytest.approx(begin, abs=0.01)
    places, _ = drawn(charts.loss, EARLIER)
    assert begin <= places[0] < places[-1] == pytest.approx(0.0, abs=1e-6), (
        "days between the runs take no room"
    )
    assert drawn(charts.loss, "steps")[0][0] == pytest.approx(first, abs=0.01)


def test_that_the_earlier_run_is_hidden_by_its_name_and_its_room_is_given_back(
    show, run, page, settings
):
    charts = show(run)
    charts.loss.legend.toggle(EARLIER)
    assert charts.time.window.start == 0.0
    assert not len(drawn(charts.metrics, "earlier train")[0])
    assert EARLIER in names(charts.loss), "so that it can be shown again"
    assert show(run).time.window.start == 0.0, "remembered"
    charts.loss.legend.toggle(EARLIER)
    assert charts.time.window.start == -600.0


def test_that_hiding_the_earlier_run_while_only_that_is_in_sight_shows_the_run(show, run):
    charts = show(run)
    charts.time.zoom(-500.0, -300.0)
    charts.loss.legend.toggle(EARLIER)
    assert charts.time.window.whole
    assert charts.time.window.start == 0.0


def test_that_a_zoom_into_the_earlier_run_shows_its_steps_and_reads_nothing_of_the_run(show, run):
    charts = show(run)
    charts.time.zoom(-400.0, -300.0)
    places, _ = drawn(charts.loss, EARLIER)
    assert np.count_nonzero((places >= -400.0) & (places <= -300.0)) == 101
    assert not charts.close_up.busy
    charts.time.pan(-1e6)
    assert charts.time.window.start == -600.0


def test_that_the_figures_at_the_crosshair_are_the_earlier_run_s(show, run, page):
    charts = show(run)
    charts.time.point_at(-350.0)
    shown = page.now.figures.readout
    assert shown.title == IN_EARLIER
    trained = [
        loss
        for event in inherited_events(run)
        if isinstance(event, events.Steps)
        for loss in event.losses
    ]
    rows = dict(shown.rows)
    assert rows["step"] == "250"
    assert float(rows["loss"]) == pytest.approx(trained[249], rel=1e-3)
    assert rows["val loss"] != rows["step time"] == "–"
    assert shown.devices is None, "of this run's devices nothing was known then"


def test_that_numbers_taken_elsewhere_are_the_run_s_own(show, run):
    charts = show(run)
    charts.files.copy_data(charts.loss)
    rows = QGuiApplication.clipboard().text().splitlines()[1:]
    assert {int(row.split("\t")[1]) for row in rows} == set(range(601, 1001))


def test_that_new_steps_of_a_resumed_run_go_on_behind_the_earlier_one(qtbot, show, page, parent):
    run = make_resumed(parent, replace(SECOND, ending="none"))
    charts = show(run)
    tell(run, events.Steps(epoch=6, first_step=1000, losses=[0.5] * 10, samples=2560, seconds=0.1))
    page.live_run.close()
    page.live_run._read()
    charts.refresh(page.live_run)
    assert charts.time.extent.duration == 410.0
    assert charts.time.window.start == -600.0


def test_that_a_run_whose_parent_is_gone_begins_at_its_own_first_step(show, run, parent):
    shutil.rmtree(parent.path)
    charts = show(run)
    assert charts.time.window.start == 0.0
    assert names(charts.loss) == ["train", "validation"]


def rewritten(run, **changed):
    """Change these fields of every call of a run."""
    told = (events.decode(line) for line in run.events_file.read_bytes().splitlines())
    lines = (
        events.encode(
            msgspec.structs.replace(each, **(changed if isinstance(each, events.Steps) else {}))
        )
        for each in told
    )
    run.events_file.write_bytes(b"".join(lines))


@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e308])
def test_that_damaged_times_of_an_earlier_run_leave_the_run_as_it_is(show, run, parent, seconds):
    rewritten(parent, seconds=seconds)
    charts = show(run)
    assert charts.time.window.start == 0.0
    assert drawn(charts.loss, "steps")[0][0] == 1.0


def test_that_damaged_steps_of_an_earlier_run_make_no_axis_run_back(show, run, parent):
    rewritten(parent, first_step=3)
    charts = show(run)
    places = charts.time.ruler.places(np.linspace(-10.0, 30.0, 200))
    assert np.all(np.diff(places) >= 0)


def test_that_another_run_has_nothing_of_the_one_shown_before(show, run, parent, page, qtbot):
    show(run)
    page.show_run(parent)
    qtbot.waitUntil(lambda: page.live_run.state is not None and not page.live_run.reading)
    page.charts.refresh(page.live_run)
    assert page.charts.time.window.start == 0.0
    assert names(page.charts.loss) == ["train", "validation"]
    assert not len(drawn(page.charts.metrics, "earlier train")[0])


def test_that_training_time_goes_on_at_once_where_a_run_was_resumed_days_later(run, parent):
    third = make_resumed(run, replace(FIRST, trained=5.5, resumed_at=5))
    told = list(in_training_time(inherited_events(third)))
    ends = [
        (event.first_step + len(event.losses), event.time)
        for event in told
        if isinstance(event, events.Steps)
    ]
    assert ends == [(step, pytest.approx(step / 10 * 0.098)) for step in range(10, 1001, 10)]
