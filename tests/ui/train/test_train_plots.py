"""Using the plots of the Train page: axis, marks, hidden curves, options, and exports."""

from __future__ import annotations

import csv
import time

import numpy as np
import pytest
import train_pages
from made_recordings import append, cards, fast, identities
from made_runs import Script, make_run, tell
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QLabel, QMenu, QProgressDialog, QPushButton

from gpu_studio.contract import events, lock, samples
from gpu_studio.runs.reading.history import History
from gpu_studio.ui.train import plot_files
from gpu_studio.ui.train.marks import begins_missing, jumps, pauses
from gpu_studio.ui.train.plot_files import FOLDER, NOTHING, PlotTable
from gpu_studio.ui.train.train_page import TrainPage

CARDS = cards("2xH100")


@pytest.fixture
def page(qtbot, theme, settings):
    return train_pages.opened(qtbot, theme, settings)


@pytest.fixture
def show(qtbot, page):
    """Show a run and wait until all of it is on the page."""

    def show_run(run):
        page.show_run(run)
        qtbot.waitUntil(lambda: page.live_run.state is not None and not page.live_run.reading)
        page.charts.refresh(page.live_run)
        page.charts.draw()
        return page.charts

    return show_run


@pytest.fixture
def run(runs_dir):
    """A run on two cards that has ended."""
    return make_run(
        runs_dir,
        Script(devices=2, trained=4, epochs=4, ending="completed", identities=identities(CARDS)),
    )


@pytest.fixture
def live_run(runs_dir):
    """A run that is told of as running, its lock held by this process."""
    run = make_run(runs_dir, Script(devices=2, trained=3.5, identities=identities(CARDS)))
    held = lock.take(run.lock_file)
    yield run
    held.release()


def kinds(plot):
    return [marks.kind for marks in plot.canvas.backdrop.marks]


def again(qtbot, theme, settings, run):
    """Another page with the same settings, as after a restart."""
    page = TrainPage(theme, settings)
    qtbot.addWidget(page, before_close_func=TrainPage.close_run)
    page.show_run(run)
    qtbot.waitUntil(lambda: page.live_run.state is not None)
    page.charts.refresh(page.live_run)
    return page


def test_that_all_plots_count_what_was_chosen_and_it_is_remembered(
    qtbot, page, show, run, theme, settings
):
    charts = show(run)
    charts.set_axis("step")
    for plot in charts.plots:
        assert plot.canvas.backdrop.ruler.kind == "step"
    assert charts.time.extent.duration == 800
    places = charts.loss.curves[0].strokes[0]
    assert (places[0], places[-1]) == (1.0, 800.0)
    assert charts.devices.curves[-1].strokes[0].max() <= 800.0
    charts.set_axis("epoch")
    assert charts.metrics.curves[0].strokes[0] == pytest.approx([1.0, 2.0, 3.0, 4.0], abs=0.01)
    assert charts.loss.axis.text() == "by epoch"
    assert again(qtbot, theme, settings, run).charts.time.ruler.kind == "epoch"


def test_that_the_axis_is_chosen_from_its_menu(qtbot, page, show, run):
    charts = show(run)
    with qtbot.waitSignal(charts.axis_changed) as told:
        charts.loss.axis.choices.actions()[2].trigger()
    assert told.args == ["time"]
    charts.set_axis("fathoms")
    assert charts.axis == "step"


def test_that_new_steps_move_the_end_of_an_axis_of_steps(qtbot, page, show, live_run):
    charts = show(live_run)
    charts.set_axis("step")
    assert charts.time.extent.duration == 700
    tell(
        live_run,
        events.Steps(epoch=4, first_step=700, losses=[0.5] * 10, samples=2560, seconds=0.1),
    )
    qtbot.waitUntil(lambda: charts.time.extent.duration == 710)


def test_that_a_pause_is_shaded_and_grows_while_it_lasts(qtbot, page, show, live_run):
    charts = show(live_run)
    tell(live_run, events.StateChanged(state="paused"))
    qtbot.waitUntil(lambda: [span.kind for span in charts.loss.canvas.backdrop.spans] == ["paused"])
    tell(live_run, events.StateChanged(state="running"))
    qtbot.waitUntil(lambda: page.live_run.state == "running")
    (pause,) = pauses(page.live_run.history)
    assert pause.words.startswith("paused for ")


def test_that_throttling_and_errors_of_the_run_s_cards_are_marked_and_named(
    qtbot, page, show, live_run
):
    charts = show(live_run)
    now = time.time()
    hot = [samples.SlowFigures(card=card.card, throttle=["power cap"]) for card in CARDS]
    append(
        live_run,
        samples.Cards(time=now - 3, cards=[*CARDS, samples.CardFacts(card="other", uuid="other")]),
        fast(CARDS, now - 3),
        samples.Slow(
            time=now - 3, cards=[*hot, samples.SlowFigures(card="other", throttle=["heat"])]
        ),
        samples.Slow(time=now - 1, cards=hot),
        samples.Happened(
            time=now - 1, card=CARDS[1].card, kind="xid", code=63, words="XID 63: row remapping"
        ),
        samples.Happened(time=now - 1, card="other", kind="xid", code=79, words="XID 79: lost"),
    )
    qtbot.waitUntil(lambda: "xid" in kinds(charts.devices))
    (held,) = [span for span in charts.devices.canvas.backdrop.spans if span.kind == "throttled"]
    assert held.words.startswith("power cap ")
    assert held.words.endswith(" · GPU:0, GPU:1")
    assert charts.devices.throttled.text == held.words
    assert charts.devices.throttled.isVisible()
    assert not [span for span in charts.loss.canvas.backdrop.spans if span.kind == "throttled"]
    (xid,) = [marks for marks in charts.loss.canvas.backdrop.marks if marks.kind == "xid"]
    assert [xid.words(number) for number in range(len(xid.times))] == [
        "GPU:1: XID 63: row remapping"
    ]
    charts.time.move_cursor(float(xid.times[0]))
    assert "GPU:1: XID 63: row remapping" in page.now.figures.readout.marked


def test_that_what_befalls_a_card_befalls_the_run_that_has_a_part_of_it(
    qtbot, page, show, runs_dir
):
    card = cards("MIG")[0]
    run = make_run(
        runs_dir,
        Script(
            devices=1,
            trained=1,
            ending="failed",
            identities=[(card.instances[0].card, card.bus_id)],
        ),
    )
    now = time.time()
    xid = samples.Happened(time=now, card=card.card, kind="xid", code=79, words="XID 79: lost")
    append(run, samples.Cards(time=now - 1, cards=[card]), xid)
    charts = show(run)
    qtbot.waitUntil(lambda: "xid" in kinds(charts.loss))
    (told,) = [marks for marks in charts.loss.canvas.backdrop.marks if marks.kind == "xid"]
    assert told.words(0) == "GPU:0: XID 79: lost"


def test_that_steady_schedules_leave_no_mark_and_jumps_do():
    steps = np.arange(1000)
    cosine = 1e-3 * (1 + np.cos(np.pi * (steps % 500) / 500)) / 2
    assert jumps(cosine).tolist() == [500], "the restart"
    assert jumps(1e-3 * 0.99**steps).tolist() == []
    assert jumps(1e-3 * np.minimum(steps / 200, 1.0)).tolist() == [], "a warm-up"
    plateau = np.repeat([1e-3, 1e-4, 1e-5], 100)
    assert jumps(plateau).tolist() == [100, 200]
    assert jumps(np.empty(0)).tolist() == jumps(np.ones(1)).tolist() == []


def test_that_only_where_losses_cease_to_be_numbers_there_is_a_mark():
    losses = np.array([np.nan, 1.0, 2.0, np.nan, np.inf, np.nan, 3.0, np.nan])
    assert begins_missing(losses).tolist() == [0, 3, 7]


def test_that_a_loss_that_is_no_number_breaks_the_curve_and_is_marked(page, show, runs_dir):
    charts = show(make_run(runs_dir, Script(trained=2, nan_at=100)))
    (missing,) = [marks for marks in charts.loss.canvas.backdrop.marks if marks.kind == "missing"]
    assert missing.words(0) == "loss is not a number from step 101 on"
    assert not charts.loss.curves[0].strokes[2].all()


def test_that_the_best_checkpoint_is_marked_apart_from_the_others(page, show, run):
    charts = show(run)
    found = {marks.kind: marks for marks in charts.loss.canvas.backdrop.marks}
    assert len(found["checkpoint"].times) == 2
    assert found["best"].words(0).startswith("best checkpoint, after epoch 4, at step 800: 0.")
    assert found["epoch"].words(2).startswith("epoch 3 ends, loss ")


def test_that_where_a_phase_begins_a_flag_says_what_it_trains(qtbot, page, show, live_run):
    charts = show(live_run)
    tell(
        live_run,
        events.PhaseBegan(
            number=2, after=3, optimizer="Adam", learning_rate=1e-05, parameters=12_345
        ),
    )
    qtbot.waitUntil(lambda: "phase" in kinds(charts.loss))
    (phase,) = [marks for marks in charts.loss.canvas.backdrop.marks if marks.kind == "phase"]
    words = "Phase 2 begins after epoch 3: a new Adam with a learning rate of 1e-05 trains"
    assert phase.words(0) == f"{words} 12,345 parameters."
    assert [line.message for line in page.live_run.history.log][-1] == phase.words(0)


def test_that_marks_are_made_anew_only_when_there_are_others(page, show, live_run, monkeypatch):
    charts = show(live_run)
    told = []
    monkeypatch.setattr(charts.loss.canvas, "set_marks", lambda *given: told.append(given))
    for _ in range(5):
        charts.refresh(page.live_run)
    assert told == []


def test_that_without_a_first_event_nothing_is_paused():
    assert pauses(History()) == []


def test_that_what_was_hidden_stays_hidden_in_every_window(qtbot, page, show, run, theme, settings):
    charts = show(run)
    charts.loss.legend.toggle("train")
    shown = {
        name: charts.loss.curve_called(name).shown for name in ("steps", "train", "validation")
    }
    assert shown == {"steps": False, "train": False, "validation": True}
    charts.devices.legend.toggle("GPU:1")
    other = again(qtbot, theme, settings, run).charts
    assert other.loss.legend.hidden == {"train"}
    assert other.devices.legend.hidden == {"GPU:1"}


def test_that_smoothing_and_the_kind_of_axis_are_remembered(
    qtbot, page, show, run, theme, settings
):
    charts = show(run)
    charts.loss.smoothing.slider.setValue(85)
    charts.loss.log.click()
    assert charts.loss.smoothing.text() == "smooth 0.85"
    other = again(qtbot, theme, settings, run).charts.loss
    assert (other.smoothing.text(), other.log.isChecked()) == ("smooth 0.85", True)
    settings.set(type(FOLDER)("train/smoothing", "", ""), "much")
    assert again(qtbot, theme, settings, run).charts.loss.smoothing.text() == "smooth 0.6"


def test_that_a_part_in_sight_offers_the_whole(qtbot, page, show, run):
    charts = show(run)
    assert not charts.loss.all.isVisible()
    charts.time.zoom(2.0, 4.0)
    assert charts.loss.all.isVisible()
    qtbot.mouseClick(charts.loss.all, Qt.MouseButton.LeftButton)
    assert charts.time.window.whole
    assert not charts.loss.all.isVisible()


@pytest.mark.parametrize("kind", ["png", "svg", "csv"])
def test_that_a_plot_is_saved_privately_and_its_folder_remembered(
    qtbot, page, show, run, settings, tmp_path, kind
):
    charts = show(run)
    path = tmp_path / f"loss.{kind}"
    with qtbot.waitSignal(charts.files.reported) as told:
        charts.files.save(charts.loss, kind, path)
    assert told.args == [f"The plot is in {path}.", "plain"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes()[:4] in (b"\x89PNG", b"<?xm", b"time")
    assert settings.get(FOLDER) == str(tmp_path)


def test_that_the_numbers_saved_are_those_in_sight(qtbot, page, show, run, tmp_path):
    charts = show(run)
    charts.set_axis("step")
    charts.time.zoom(101.0, 300.0)
    path = tmp_path / "loss.csv"
    with qtbot.waitSignal(charts.files.reported):
        charts.files.save(charts.loss, "csv", path)
    rows = [row for row in csv.DictReader(path.open()) if row["loss"]]
    assert [int(row["step"]) for row in rows] == list(range(101, 301))
    losses = page.live_run.history.losses.column("loss")[100:300]
    assert [float(row["loss"]) for row in rows] == pytest.approx(losses.tolist(), rel=1e-8)
    assert {row["epoch"] for row in rows} == {"1", "2"}
    with qtbot.waitSignal(charts.files.reported):
        charts.files.save(charts.devices, "csv", path)
    assert "GPU:1 in use (bytes)" in path.read_text().splitlines()[0]


def test_that_a_file_that_cannot_be_written_is_told_of_in_words(qtbot, page, show, run, tmp_path):
    charts = show(run)
    with qtbot.waitSignal(charts.files.reported) as told:
        charts.files.save(charts.loss, "svg", tmp_path / "missing" / "loss.svg")
    assert told.args[1] == "bad"
    assert "No such file" in told.args[0]
    assert told.args[0].endswith("Write it to another place.")


def test_that_a_plot_goes_to_the_clipboard_as_picture_and_as_numbers(qtbot, page, show, run):
    charts = show(run)
    charts.files.copy_picture(charts.devices)
    assert QGuiApplication.clipboard().image().width() > 1400
    charts.files.copy_data(charts.metrics)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].split("\t")[3:] == [
        "sparse_categorical_accuracy",
        "val_sparse_categorical_accuracy",
    ]
    assert len(lines) == 5


def test_that_too_much_for_the_clipboard_and_nothing_at_all_are_refused_in_words(
    qtbot, page, show, run, monkeypatch
):
    monkeypatch.setattr(plot_files, "MOST_COPIED", 100)
    with qtbot.waitSignal(page.charts.files.reported) as told:
        page.charts.files.copy_data(page.charts.loss)
    assert told.args == [NOTHING, "bad"]
    charts = show(run)
    with qtbot.waitSignal(charts.files.reported) as told:
        charts.files.copy_data(charts.loss)
    assert "too many for the clipboard" in told.args[0]


def test_that_what_takes_long_says_so_and_can_be_cancelled(
    qtbot, page, show, run, tmp_path, monkeypatch
):
    monkeypatch.setattr(plot_files, "UNSEEN_MS", 0)
    monkeypatch.setattr(PlotTable, "chunks", lambda _table, _separator: iter(lambda: "row\n", None))
    charts, path = show(run), tmp_path / "files" / "<b>loss.csv"
    path.parent.mkdir()
    charts.files.save(charts.loss, "csv", path)
    qtbot.waitUntil(
        lambda: any(dialog.isVisible() for dialog in charts.findChildren(QProgressDialog))
    )
    (dialog,) = charts.findChildren(QProgressDialog)
    assert dialog.labelText() == "Writing <b>loss.csv…"
    assert dialog.findChild(QLabel).textFormat() == Qt.TextFormat.PlainText
    with qtbot.waitSignal(dialog.destroyed):
        dialog.findChild(QPushButton).click()
    qtbot.waitUntil(lambda: not charts.files.busy)
    assert list(path.parent.iterdir()) == []


def test_that_the_dots_of_each_plot_offer_to_save_it(qtbot, page, show, run):
    charts = show(run)
    menus = [
        menu for plot in charts.plots for menu in plot.findChildren(QMenu) if menu.title() == "Plot"
    ]
    assert len(menus) == 3
    words = [action.text() for action in menus[2].actions() if action.text()]
    assert words[:5] == [
        "Copy as picture",
        "Copy data",
        "Save as PNG…",
        "Save as SVG…",
        "Save as CSV…",
    ]
    menus[2].actions()[4].trigger()
    (dialog,) = charts.findChildren(QFileDialog)
    assert dialog.windowTitle() == "Save plot as SVG"
    assert dialog.selectedFiles()[0].endswith("digits-on-four-devices-memory.svg")
    dialog.reject()
    qtbot.waitUntil(lambda: charts.findChildren(QFileDialog) == [])


def test_that_the_figures_at_the_crosshair_are_copied_as_cells(qtbot, page, show, run):
    with qtbot.waitSignal(page.reported) as told:
        page.now.copy_figures()
    assert told.args[1] == "bad"
    charts = show(run)
    charts.time.move_cursor(5.0)
    charts.loss.canvas.setFocus()
    with qtbot.waitSignal(page.reported):
        qtbot.keyClick(charts.loss.canvas, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    cells = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    assert cells[0][0].startswith("At ")
    assert ["device", "in use MiB"] in cells
    assert "loss" in [row[0] for row in cells]
    assert charts.entered is charts.loss


def test_that_the_meters_give_way_to_the_figures_pointed_at_where_there_is_no_room_for_both(
    qtbot, page, show, runs_dir
):
    charts = show(make_run(runs_dir, Script(devices=8, trained=1, epochs=2, ending="failed")))
    qtbot.waitUntil(lambda: bool(page.now.meters) and page.now.meters[0].isVisible())
    meter = page.now.meters[0]
    charts.time.move_cursor(2.0)
    assert not meter.isVisible()
    charts.time.move_cursor(None)
    assert meter.isVisible()


def test_that_a_tall_window_shows_a_second_figure_of_the_devices_below(qtbot, page, show, live_run):
    append(live_run, samples.Cards(time=time.time() - 2, cards=CARDS), fast(CARDS, time.time() - 2))
    charts = show(live_run)
    qtbot.waitUntil(lambda: not page.live_run.record.empty)
    assert not charts.second.isVisible()
    page.resize(1196, 1100)
    qtbot.waitUntil(charts.second.isVisible)
    assert (charts.devices.view, charts.second.view) == ("memory", "utilisation")
    qtbot.waitUntil(lambda: len(charts.second.curves) == 2)
    assert [plot.canvas.backdrop.times_shown for plot in charts.plots] == [
        False,
        False,
        False,
        True,
    ]
    charts.time.move_cursor(2.0)
    assert charts.second.canvas.crosshair is not None
    charts.second.legend.toggle("GPU:1")
    assert charts.devices.legend.hidden == {"GPU:1"}
    page.resize(1196, 746)
    qtbot.waitUntil(lambda: not charts.second.isVisible())
    assert charts.devices.canvas.backdrop.times_shown


def test_that_the_axis_of_time_begins_with_the_first_step_and_folds_pauses(
    qtbot, page, show, live_run
):
    charts = show(live_run)
    charts.set_axis("time")
    history = page.live_run.history
    first = float(history.losses.column("time")[0]) - history.started.time
    assert charts.loss.curve_called("steps").strokes[0][0] == pytest.approx(0.0, abs=1e-3)
    assert charts.time.extent.duration == pytest.approx(history.seconds - first, abs=1e-3)
    tell(live_run, events.StateChanged(state="paused"))
    qtbot.waitUntil(lambda: page.live_run.state == "paused")
    long = charts.time.extent.duration
    tell(live_run, events.Log(message="still paused"))
    qtbot.waitUntil(lambda: page.live_run.history.last_time > history.states[-1].time)
    assert charts.time.extent.duration == pytest.approx(long, abs=0.05)
