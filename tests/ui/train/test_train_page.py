from __future__ import annotations

import os
import signal

import pytest
import train_pages
from made_runs import Script, make_run, tell
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget
from real_runs import start

from gpu_studio.contract import events, lock
from gpu_studio.contract.directory import CommandReader
from gpu_studio.ui.kit.theme import DARK, LIGHT, ThemeManager

__all__ = ["start"]


@pytest.fixture
def theme(qapp):
    return ThemeManager("dark")


@pytest.fixture
def page(qtbot, theme):
    return train_pages.opened(qtbot, theme)


@pytest.fixture
def show(qtbot, page):
    """Show a run and wait until all of it is on the page."""

    def show_run(run):
        page.show_run(run)
        qtbot.waitUntil(lambda: page.live_run.state is not None)
        qtbot.waitUntil(
            lambda: not page.live_run.live or page.figures.history == page.live_run.history.revision
        )
        return page

    return show_run


@pytest.fixture
def live_run(runs_dir):
    """A run that is told of as running, its lock held by this process."""
    run = make_run(runs_dir, Script(trained=3.5))
    held = lock.take(run.lock_file)
    yield run
    held.release()


def seen(widget: QWidget) -> bool:
    return widget.isVisibleTo(widget.window())


def asked(run) -> list[str]:
    return [command.action for command in CommandReader(run.commands_file).read()]


def test_that_without_a_run_the_page_says_how_to_begin(page):
    text = " ".join(
        label.text()
        for label in page.findChildren(QWidget)
        if hasattr(label, "text") and seen(label)
    )
    assert "Ctrl+Return" in text
    assert page.current_run is None
    for ask in (page.toggle_pause, page.checkpoint_now, page.stop, page.stop_now):
        ask()


def test_that_a_live_run_is_shown_with_state_progress_and_curves(qtbot, page, show, live_run):
    show(live_run)
    assert page.current_run == live_run
    assert page.header.name.text() == "digits on four devices"
    assert page.header.badge.state == "running"
    assert page.header.line.text.startswith("epoch 4 of 30 · step 700 · ")
    assert page.header.bar.value() == pytest.approx(1000 * 700 / 6000, abs=2)
    assert [entry.name for entry in page.charts.devices.legend.entries] == [
        "GPU:0",
        "GPU:1",
        "GPU:2",
        "GPU:3",
    ]
    assert [meter.now.name for meter in page.now.meters] == ["GPU:0", "GPU:1", "GPU:2", "GPU:3"]
    assert page.charts.metrics.title.text() == "Accuracy"

    def empty() -> list[str]:
        return [
            name
            for plot in page.charts.plots
            for name in plot.names
            if not len(plot.curve_called(name).strokes[0])
        ]

    # And of no earlier run.
    qtbot.waitUntil(lambda: all(name.startswith("earlier") for name in empty()))


def test_that_a_run_that_is_being_read_says_so(page, live_run):
    page.show_run(live_run)
    page._show_line()
    assert page.header.line.text == "reading the run… 0 %"
    assert page.header.badge.state is None


def test_that_new_steps_move_curve_and_headline(qtbot, page, show, live_run):
    show(live_run)
    curve = page.charts.loss.canvas.curves[0]
    before = len(curve.strokes[0])
    tell(
        live_run,
        events.Steps(epoch=4, first_step=700, losses=[0.5] * 10, samples=2560, seconds=0.1),
    )
    qtbot.waitUntil(lambda: len(curve.strokes[0]) > before)
    qtbot.waitUntil(lambda: "step 710" in page.header.line.text)
    qtbot.waitUntil(lambda: page.charts.loss.legend.entries[0].value == "0.5000")


def test_that_nothing_is_drawn_while_the_page_is_hidden_and_all_when_it_comes_back(
    qtbot, page, show, live_run
):
    show(live_run)
    page.hide()
    drawn = [plot.redraws for plot in page.charts.plots]
    with qtbot.waitSignal(page.live_run.changed):
        tell(live_run, events.Log(message="unseen"))
    with qtbot.waitSignal(page.live_run.changed):
        tell(
            live_run, events.Steps(epoch=4, first_step=700, losses=[0.5], samples=256, seconds=0.1)
        )
    assert not page.charts.following
    assert [plot.redraws for plot in page.charts.plots] == drawn
    page.show()
    assert "step 701" in page.header.line.text
    assert "unseen" in page.details.log.events.toPlainText()
    assert page.charts.following


def test_that_the_buttons_ask_the_trainer(qtbot, page, show, live_run):
    show(live_run)
    qtbot.mouseClick(page.header.pause, Qt.MouseButton.LeftButton)
    assert "pause" in page.header.line.text
    page.header.checkpoint.trigger()
    qtbot.mouseClick(page.header.stop, Qt.MouseButton.LeftButton)
    page.header.stop_now.trigger()
    assert asked(live_run) == ["pause", "checkpoint", "stop", "stop_now"]


def test_that_pause_becomes_resume_in_a_paused_run(qtbot, page, show, live_run):
    show(live_run)
    with qtbot.waitSignal(page.state_changed) as told:
        tell(live_run, events.StateChanged(state="paused"))
    assert told.args == ["paused"]
    assert page.header.pause.text() == "Resume"
    page.toggle_pause()
    assert asked(live_run) == ["resume"]


def test_that_what_is_waited_for_is_said_in_status(qtbot, page, show, live_run):
    show(live_run)
    with qtbot.waitSignal(page.status) as told:
        page.stop()
    assert "checkpoint" in told.args[0]


def test_that_an_overdue_stop_offers_to_go_further_and_only_then(page, show, live_run):
    show(live_run)
    page.stop()
    assert not seen(page.stop_offer)
    stopper = page.live_run.stopper
    stopper.clock = lambda: stopper.since + 11.0
    stopper.tick()
    assert seen(page.stop_offer)
    assert page.stop_offer.button.text() == "Terminate"


def test_that_a_failed_run_says_what_happened_what_to_do_and_shows_its_traceback(
    qtbot, page, show, runs_dir
):
    show(make_run(runs_dir, Script(trained=3.5, ending="failed")))
    banner = page.outcome
    assert "GPU:2 ran out of memory" in banner.message.text()
    assert banner.suggestions.text().count("•") == 3
    assert not seen(page.details.details)
    qtbot.mouseClick(banner.more, Qt.MouseButton.LeftButton)
    assert seen(page.details.details)
    assert "ResourceExhaustedError" in page.details.details.toPlainText()
    assert page.details.height() > 150
    qtbot.mouseClick(banner.copy, Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text()
    assert "GPU:2 ran out of memory" in copied
    assert "ResourceExhaustedError" in copied


def test_that_a_killed_trainer_is_shown_as_lost_with_resume_offered(qtbot, page, show, start):
    launched = start("--hold-at", "3", "--checkpoint-every", "2")
    show(launched.directory)
    qtbot.waitUntil(lambda: page.live_run.history.step == 3)
    os.kill(launched.process.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: page.header.badge.state == "lost")
    assert seen(page.outcome.resume)
    assert not seen(page.header.stop)
    with qtbot.waitSignal(page.resume_requested) as told:
        qtbot.mouseClick(page.outcome.resume, Qt.MouseButton.LeftButton)
    assert told.args == [str(launched.directory.path)]


def test_that_a_run_without_a_checkpoint_offers_no_resume(page, show, runs_dir):
    show(make_run(runs_dir, Script(trained=0.5)))
    assert page.header.badge.state == "lost"
    assert seen(page.outcome)
    assert not seen(page.outcome.resume)


def test_that_a_finished_run_shows_its_test_figures_and_nothing_to_press(page, show, runs_dir):
    show(make_run(runs_dir, Script(trained=2, epochs=2, ending="completed")))
    assert page.header.line.text.startswith("test accuracy 0.9620")
    assert page.header.bar.value() == 1000
    assert not seen(page.outcome)
    assert not any(
        seen(button) for button in (page.header.pause, page.header.stop, page.header.more)
    )
    assert not page.charts.following
    assert not seen(page.charts.loss.follow)
    assert page.now.title.text() == "AT THE END"


def test_that_the_crosshair_fills_the_readout(page, show, live_run):
    show(live_run)
    assert page.now.figures.readout.title == "Newest step"
    page.charts.time.move_cursor(3.0)
    assert page.now.figures.readout.title.startswith("At ")
    page.charts.time.move_cursor(None)
    assert page.now.figures.readout.title == "Newest step"


def test_that_another_metric_can_be_chosen(qtbot, page, show, live_run):
    show(live_run)
    assert not seen(page.charts.metrics.choice)
    two = {"loss": 0.5, "accuracy": 0.8, "auc": 0.7, "val_auc": 0.6}
    tell(live_run, events.Epoch(epoch=4, step=800, metrics=two, seconds=1, samples_per_second=100))
    qtbot.waitUntil(lambda: seen(page.charts.metrics.choice))
    assert page.charts.metrics.chosen == "sparse_categorical_accuracy"
    page.charts.metrics.choice.setCurrentIndex(2)
    assert page.charts.metrics.chosen == "auc"
    assert [entry.value for entry in page.charts.metrics.legend.entries] == ["0.7000", "0.6000"]
    assert dict(page.now.figures.readout.rows)["val auc"] == "0.6000"


def test_that_metrics_of_several_outputs_are_offered_output_by_output(qtbot, page, show, live_run):
    show(live_run)
    two = dict.fromkeys(("loss", "age_loss", "age_error", "digit_loss", "digit_accuracy"), 0.5)
    tell(live_run, events.Epoch(epoch=4, step=800, metrics=two, seconds=1, samples_per_second=100))
    choice = page.charts.metrics.choice
    qtbot.waitUntil(lambda: choice.findData("digit_accuracy") >= 0)
    offered = [choice.itemText(index) for index in range(choice.count())]
    separated = ["", "age loss", "age error", "", "digit loss", "digit accuracy"]
    assert offered[-len(separated) :] == separated
    choice.setCurrentIndex(choice.findData("digit_accuracy"))
    assert page.charts.metrics.chosen == "digit_accuracy"
    assert page.charts.metrics.title.text() == "Digit accuracy"


def test_that_a_run_without_metrics_has_no_plot_for_them(page, show, runs_dir):
    show(make_run(runs_dir, Script(trained=0.5)))
    assert not seen(page.charts.metrics)
    assert seen(page.charts.loss)


def test_that_another_run_takes_the_place_of_the_first_whole(page, show, live_run, runs_dir):
    show(live_run)
    page.charts.time.zoom(1.0, 2.0)
    show(
        make_run(
            runs_dir,
            Script(kind="CPU", devices=2, trained=1, epochs=1, name="another", ending="completed"),
        )
    )
    assert page.header.name.text() == "another"
    assert page.charts.devices.names == ["host", "CPU:0", "CPU:1"]
    assert [meter.now.name for meter in page.now.meters] == ["CPU:0", "CPU:1", "host"]
    assert page.charts.time.window.whole
    assert page.details.log.events.toPlainText().count("epoch 1 ") == 1


def test_that_closing_the_run_brings_back_the_empty_page_and_leaves_the_trainer_alone(
    page, show, live_run
):
    show(live_run)
    page.close_run()
    assert page.current_run is None
    assert asked(live_run) == []


def test_that_smoothing_the_logarithmic_axis_and_follow_are_switched_on_the_page(
    qtbot, page, show, live_run
):
    show(live_run)
    loss = page.charts.loss
    linear = loss.canvas.backdrop.high
    qtbot.mouseClick(loss.log, Qt.MouseButton.LeftButton)
    assert loss.canvas.backdrop.high < linear
    assert loss.smoothing.text() == "smooth 0.6"
    rough = loss.canvas.curves[1].strokes[1].std()
    loss.set_smoothing(0.97)
    assert loss.canvas.curves[1].strokes[1].std() < rough
    page.charts.time.zoom(1.0, 3.0)
    assert not loss.follow.isChecked()
    qtbot.mouseClick(loss.follow, Qt.MouseButton.LeftButton)
    assert page.charts.time.window.follow
    assert page.charts.time.window.end >= page.charts.time.extent.duration


def test_that_the_page_changes_its_colours_with_the_theme(page, show, theme, live_run):
    show(live_run)
    theme.set_mode("light")
    assert page.charts.loss.canvas.backdrop.tokens is LIGHT
    image = page.charts.devices.grab().toImage()
    found = {
        image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())
    }
    assert {LIGHT.devices[0], LIGHT.devices[3]} <= found
    assert not found & {DARK.devices[0], DARK.surface}


@pytest.mark.parametrize("ending", ["none", "failed"])
def test_that_everything_that_takes_the_focus_has_a_name(page, show, runs_dir, ending):
    show(make_run(runs_dir, Script(trained=3.5, ending=ending)))
    if page.outcome.more.isEnabled():
        page.outcome.more.click()
    stops = [
        widget
        for widget in page.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.focusProxy() is None
        and widget.window() is page and seen(widget)
    ]  # fmt: skip
    assert {plot.canvas for plot in page.charts.plots} <= set(stops)
    assert len(stops) > 8
    nameless = [stop for stop in stops if not stop.accessibleName()]
    assert nameless == []


def test_that_the_page_fits_the_smallest_window(page, show, runs_dir):
    show(make_run(runs_dir, Script(trained=3.5, ending="failed", devices=8)))
    assert page.minimumSizeHint().width() <= 940
    assert page.minimumSizeHint().height() <= 600


def test_that_the_details_go_with_the_run_they_belong_to(page, show, live_run, runs_dir):
    show(make_run(runs_dir, Script(trained=3.5, ending="failed")))
    page.outcome.more.click()
    show(live_run)
    assert not page.details.tabs.offers("Details")
    assert page.details.details.toPlainText() == ""
    assert not seen(page.outcome)


def test_that_a_long_name_leaves_room_for_the_headline(page, show, runs_dir):
    show(make_run(runs_dir, Script(trained=2.5, name="a name " * 30)))
    assert page.header.name.width() < page.width() / 2
    assert page.header.line.width() > page.width() / 4


@pytest.mark.parametrize("width", [912, 700])
@pytest.mark.parametrize("name", ["digits on four devices", "a name " * 30])
def test_that_a_stopped_run_says_in_every_width_that_there_is_a_checkpoint(
    page, show, runs_dir, width, name
):
    page.resize(width, 680)
    show(make_run(runs_dir, Script(trained=2.5, ending="stopped", name=name)))
    line = page.header.line
    assert line.shown.endswith("with a checkpoint")
    assert line.toolTip() == line.text != line.shown


def test_that_a_plot_takes_the_focus_by_a_click(qtbot, page, show, live_run):
    show(live_run)
    canvas = page.charts.devices.canvas
    qtbot.mouseClick(canvas.viewport(), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(canvas.hasFocus)
    assert not canvas.backdrop.focused


def test_that_a_run_that_cannot_be_read_says_so_in_the_headline(qtbot, page, show, live_run):
    show(live_run)
    live_run.events_file.unlink()
    live_run.events_file.mkdir()
    qtbot.waitUntil(lambda: page.header.line.text.startswith("The run cannot be read"))


def test_that_the_plans_name_is_shown_before_the_trainer_has_told_it(page, runs_dir):
    run = make_run(runs_dir, Script(trained=1, name="my plan"))
    page.show_run(run)
    assert page.header.name.text() == "my plan"


def test_that_a_run_that_ends_does_not_throw_the_focus_somewhere_else(qtbot, page, show, live_run):
    show(live_run)
    page.header.stop.setFocus()
    with qtbot.waitSignal(page.live_run.ended):
        tell(live_run, events.Finished(reason="completed", seconds=1.0, epoch=4, step=700))
    assert not any(plot.canvas.hasFocus() for plot in page.charts.plots)
    assert not page.charts.loss.log.hasFocus()
