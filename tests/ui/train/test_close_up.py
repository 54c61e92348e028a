"""Zooming into a run whose curves were thinned shows every point of the visible part."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import train_pages
from made_recordings import cards, fast
from made_runs import Script, make_run

from gpu_studio.common.figures import grouped
from gpu_studio.contract import files, lock, samples
from gpu_studio.contract.events import Steps, decode
from gpu_studio.contract.files import write_private
from gpu_studio.runs.reading import event_file, history, series
from gpu_studio.runs.reading.series import Series
from gpu_studio.ui.train import card_record, close_up
from gpu_studio.ui.train.charts import READING

LONG = Script(devices=2, trained=20, epochs=20, steps=1000, per_call=10, call_seconds=0.5)
CARDS = cards("2xH100")


@pytest.fixture(autouse=True)
def little_left(monkeypatch):
    """Curves that keep few points, and bookmarks that lie near each other."""
    monkeypatch.setattr(history, "Series", partial(Series, most=4096))
    monkeypatch.setattr(series, "_MOST_SAMPLES", 512)
    monkeypatch.setattr(card_record, "MOST_POINTS", 256)
    monkeypatch.setattr(close_up, "ENOUGH", 128)
    monkeypatch.setattr(close_up, "MOST_STEPS", 2000)
    monkeypatch.setattr(event_file, "APART", 4 * 1024)
    monkeypatch.setattr(files, "MOST_AT_ONCE", 32 * 1024)


@pytest.fixture
def live(request):
    """Whether the run goes on."""
    return getattr(request, "param", False)


@pytest.fixture
def run(live, runs_dir):
    """A run of 20,000 steps in a quarter of an hour, with a recording of its cards each second."""
    made = make_run(runs_dir, replace(LONG, ending="none" if live else "completed"))
    begun = decode(made.events_file.read_bytes().partition(b"\n")[0]).time
    recorded = [
        samples.Cards(time=begun, cards=CARDS),
        *(fast(CARDS, begun + second, second) for second in range(1000)),
    ]
    write_private(made.hardware_file, b"".join(map(samples.encode, recorded)))
    held = lock.take(made.lock_file) if live else None
    yield made
    if held is not None:
        held.release()


@pytest.fixture
def charts(qtbot, theme, settings, run):
    page = train_pages.opened(qtbot, theme, settings)
    page.show_run(run)
    live = page.live_run
    qtbot.waitUntil(lambda: live.state is not None and not live.reading and not live.record.reading)
    page.charts.set_axis("time")
    page.charts.refresh(live)
    qtbot.waitUntil(lambda: not page.charts.close_up.busy)
    return page.charts


def told(run):
    """The losses of every step, as they stand in the file."""
    found = (decode(line) for line in run.events_file.read_bytes().splitlines())
    return np.array([loss for event in found if isinstance(event, Steps) for loss in event.losses])


def look_at(charts, start, end):
    """Show what was between two seconds after the run's start."""
    ruler = charts.time.ruler
    charts.time.zoom(ruler.place(start), ruler.place(end))


def zoom(qtbot, charts, start, end):
    look_at(charts, start, end)
    qtbot.waitUntil(lambda: not charts.close_up.busy)


def in_sight(plot, charts, name):
    """The points of a curve in the window of time."""
    begun = charts.run.history.started.time
    times, values = plot.curve_called(name).series
    window, ruler = charts.time.window, charts.time.ruler
    kept = (times >= begun + ruler.second(window.start)) & (
        times <= begun + ruler.second(window.end)
    )
    return times[kept], values[kept]


@pytest.mark.parametrize("live", [False, True], ids=["ended", "live"], indirect=True)
def test_that_a_zoom_far_back_shows_every_step_and_sample_and_lets_go_of_them_again(
    qtbot, charts, run
):
    losses, live = told(run), charts.run
    whole = live.history.losses
    assert len(whole) <= 4096, "it was thinned"
    before = len(in_sight(charts.loss, charts, "steps")[0])
    zoom(qtbot, charts, 200.0, 202.0)
    assert len(whole.near.series) < 4096
    times, values = in_sight(charts.loss, charts, "steps")
    first = int(whole.near.column("step")[whole.near.column("time").searchsorted(times[0])]) - 1
    assert len(values) == pytest.approx(40, abs=11)
    np.testing.assert_array_equal(values, losses[first : first + len(values)])
    places, heights, _ = charts.loss.curve_called("steps").strokes
    assert set(values) <= set(heights), "each of them is drawn"
    assert len(places) <= len(values) + 2
    zoom(qtbot, charts, 200.0, 260.0)
    assert np.diff(in_sight(charts.devices, charts, "GPU:1")[0]).max() == pytest.approx(0.5)
    charts.devices.tabs.setCurrentIndex(1)
    figure = live.record.figures.series(CARDS[0].card, "utilisation")
    assert np.diff(figure.near.column("time")).max() == 1.0
    charts.time.show_all()
    qtbot.waitUntil(lambda: whole.near is None)
    assert len(in_sight(charts.loss, charts, "steps")[0]) == pytest.approx(before, abs=2)


def test_that_the_crosshair_and_an_axis_of_steps_know_every_step(qtbot, charts, run):
    page, losses = charts.parentWidget(), told(run)
    while not hasattr(page, "now"):
        page = page.parentWidget()
    charts.set_axis("step")
    charts.time.zoom(4_000.0, 4_030.0)
    qtbot.waitUntil(lambda: not charts.close_up.busy)
    places, heights, _ = charts.loss.curve_called("steps").strokes
    kept = (places >= 4_000) & (places <= 4_030)
    np.testing.assert_allclose(places[kept], np.arange(4_000, 4_031), atol=1e-3)
    np.testing.assert_array_equal(heights[kept], losses[3_999:4_030])
    charts.time.point_at(4_017.01)
    rows = dict(page.now.figures.readout.rows)
    assert rows["step"] == grouped(4_017)


def test_that_a_file_that_goes_away_leaves_what_was_kept(qtbot, charts, run):
    before = run.events_file.read_bytes()
    run.events_file.write_bytes(before[: len(before) // 8])
    zoom(qtbot, charts, 200.0, 202.0)
    assert charts.run.history.losses.near is None
    assert len(in_sight(charts.loss, charts, "steps")[0]) >= 2


def test_that_only_what_takes_long_is_told_and_a_newer_zoom_takes_its_place(
    qtbot, charts, monkeypatch
):
    monkeypatch.setattr(close_up, "LONG_MS", 0)
    monkeypatch.setattr(close_up, "PAUSE_MS", 600_000)  # it is not read meanwhile
    look_at(charts, 200.0, 202.0)
    qtbot.waitUntil(lambda: charts.loss.canvas.backdrop.note == READING)
    monkeypatch.setattr(close_up, "PAUSE_MS", 1)
    look_at(charts, 300.0, 302.0)
    qtbot.waitUntil(lambda: not charts.close_up.busy)
    assert charts.loss.canvas.backdrop.note == ""
    near, begun = charts.run.history.losses.near, charts.run.history.started.time
    assert (near.start - begun, near.end - begun) == (299.0, 303.0)
