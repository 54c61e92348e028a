"""The cards' own figures on the Train page, from recordings made for made-up runs."""

from __future__ import annotations

import time

import pytest
import train_pages
from made_recordings import append, cards, fast, host, identities, record, used_mib
from made_runs import MIB, Script, make_run, tell
from msgspec.structs import replace
from patience import PATIENCE_S
from PySide6.QtCore import Qt
from real_runs import start

from gpu_studio.contract import events, lock, samples
from gpu_studio.hardware import accompany
from gpu_studio.ui.train import card_record
from gpu_studio.ui.train.device_figures import faint_style_of, style_of
from gpu_studio.ui.train.train_page import TrainPage

pytestmark = pytest.mark.slow

__all__ = ["start"]

EIGHT = cards("8xH100")
TURNED = list(reversed(EIGHT))
"""As TensorFlow counts them in these runs: the other way round than NVML."""


@pytest.fixture
def page(qtbot, theme, settings, monkeypatch):
    monkeypatch.setattr(card_record, "LAST_LOOK_MS", 100)
    return train_pages.opened(qtbot, theme, settings)


@pytest.fixture
def show(qtbot, page):
    """Show a run and wait until it and its recording are on the page."""

    def show_run(run):
        page.show_run(run)
        qtbot.waitUntil(lambda: page.live_run.state is not None)
        qtbot.waitUntil(lambda: page.figures.record == page.live_run.record.revision > 0)
        plot = page.charts.devices
        qtbot.waitUntil(
            lambda: all(len(drawn(plot, name)[1]) for name in plot.names)
        )  # in the next frame
        return plot

    return show_run


def recorded(runs_dir, facts=EIGHT, **script):
    run = make_run(runs_dir, Script(trained=2.5, ago=0.2, **script))
    record(run, facts, time.time() - 7.2, 8)
    return run


@pytest.fixture
def live_run(runs_dir):
    """A run on two cards, recorded so far, its lock held by this process."""
    run = recorded(runs_dir, devices=2, identities=identities(TURNED))
    held = lock.take(run.lock_file)
    yield run
    held.release()


def told_of(page, head):
    """The values under this head in the table of the devices."""
    return page.now.figures.readout.devices.column(head)


def drawn(plot, name):
    """The curve of this name: its style, and the values that are really drawn."""
    curve = plot.curve_called(name)
    return curve.style, curve.strokes[1]


def test_that_each_card_is_drawn_with_the_device_that_lies_on_it(show, live_run):
    plot = show(live_run)
    for place, card in enumerate(TURNED[:2]):
        style, values = drawn(plot, f"{card.card} memory")
        assert style == faint_style_of(7 - place), (
            "as on the Devices page, whose order is the driver's"
        )
        assert values.min() >= used_mib(7 - place) * MIB
        assert values.max() < (used_mib(7 - place) + 7) * MIB
        assert drawn(plot, f"GPU:{place}")[0] == style_of(7 - place)
    assert plot.names[-2:] == ["GPU:0", "GPU:1"], "the devices lie over their cards"


def test_that_the_faint_line_can_be_told_from_the_background_in_both_themes(
    show, page, theme, live_run
):
    plot = show(live_run)
    for mode in ("dark", "light"):
        theme.set_mode(mode)
        image = plot.canvas.grab().toImage()
        found = {
            image.pixelColor(x, y).name()
            for x in range(image.width())
            for y in range(image.height())
        }
        assert {style.colour(theme.tokens) for style in (faint_style_of(7), style_of(7))} <= found


def test_that_the_switch_takes_the_cards_away_and_is_remembered(
    qtbot, show, page, theme, settings, live_run
):
    plot = show(live_run)
    assert plot.cards.isChecked()
    qtbot.mouseClick(plot.cards, Qt.MouseButton.LeftButton)
    assert plot.names == ["GPU:0", "GPU:1"]
    assert [entry.name for entry in plot.legend.entries] == ["GPU:0", "GPU:1"]
    again = TrainPage(theme, settings)
    qtbot.addWidget(again, before_close_func=TrainPage.close_run)
    again.show_run(live_run)
    qtbot.waitUntil(lambda: not again.live_run.record.empty)
    again.charts.refresh(again.live_run)
    assert again.charts.devices.names == ["GPU:0", "GPU:1"]
    assert not again.charts.devices.cards.isChecked()


def test_that_the_slices_can_be_seen_where_the_card_holds_much_more(show, runs_dir):
    plot = show(
        recorded(runs_dir, devices=4, per_card=4, limit_mib=128, identities=identities(TURNED))
    )
    assert plot.canvas.backdrop.high <= 256 * MIB
    assert plot.caption.text.endswith("above the view")
    plot.cards.click()
    assert plot.canvas.backdrop.high > used_mib(7) * MIB


def test_that_utilisation_is_chosen_by_its_tab_and_read_at_the_crosshair(
    qtbot, show, page, live_run
):
    plot = show(live_run)
    before = plot.redraws
    plot.tabs.setFocus()
    qtbot.keyClick(plot.tabs, Qt.Key.Key_Right)
    assert plot.view == "utilisation"
    assert plot.redraws > before
    assert (plot.canvas.backdrop.low, plot.canvas.backdrop.high) == (0.0, 100.0)
    assert plot.canvas.accessibleName() == "Utilisation over time"
    assert drawn(plot, f"{TURNED[1].card} utilisation")[0] == style_of(6)
    page.charts.time.move_cursor(3.0)
    at = page.live_run.history.started.time + 3.0
    told = page.live_run.record.figures.value_at(TURNED[0].card, "utilisation", at)
    assert told_of(page, "busy")["GPU:0"] == f"{told:.0f}"
    assert told_of(page, "power")["GPU:1"] == "360"
    plot.tabs.setCurrentIndex(2)
    assert plot.canvas.curves, "marks and curves stay"
    assert plot.canvas.backdrop.marks


def test_that_a_new_sample_draws_the_devices_and_nothing_else(qtbot, show, page, live_run):
    plot = show(live_run)
    before = plot.redraws
    others = [page.charts.loss.redraws, page.charts.metrics.redraws]
    append(live_run, fast(EIGHT, time.time(), 5))
    qtbot.waitUntil(lambda: plot.redraws > before)
    assert [page.charts.loss.redraws, page.charts.metrics.redraws] == others


def test_that_a_hidden_page_draws_no_sample_and_all_of_them_when_it_comes_back(
    qtbot, show, page, live_run
):
    plot = show(live_run)
    page.hide()
    before = plot.redraws
    with qtbot.waitSignal(page.live_run.record.caught_up):
        append(live_run, fast(EIGHT, time.time() + 60, 3))
    assert plot.redraws == before
    page.show()
    assert (
        plot.curve_called(f"{TURNED[0].card} memory").series[0][-1]
        == page.live_run.record.figures.last
    )


def test_that_what_is_recorded_after_the_last_event_is_drawn_too(qtbot, show, page, live_run):
    plot = show(live_run)
    with qtbot.waitSignal(page.live_run.ended):
        tell(live_run, events.Finished(reason="completed", seconds=1.0, epoch=2, step=500))
    assert not page.charts.following
    append(live_run, fast(EIGHT, time.time() + 1, 4))
    qtbot.waitUntil(lambda: page.live_run.record.over)
    assert (
        plot.curve_called(f"{TURNED[0].card} memory").series[0][-1]
        == page.live_run.record.figures.last
    )
    assert told_of(page, "card")["GPU:0"] == "1.7"


def test_that_without_cards_the_host_is_there_to_see(show, page, runs_dir):
    plot = show(recorded(runs_dir, [], kind="CPU", devices=2))
    assert plot.names == ["host", "CPU:0", "CPU:1"]
    assert plot.cards.text() == "whole host"
    plot.cards.click()
    assert plot.names[0] == "host memory"
    plot.tabs.setCurrentIndex(1)
    assert plot.names == ["host utilisation"]
    assert list(told_of(page, "busy")) == ["CPU:0", "CPU:1", "host"]
    assert plot.tabs.count() == 2


def test_that_the_tab_stays_from_run_to_run_where_it_can(qtbot, show, page, runs_dir, live_run):
    plot = show(live_run)
    plot.tabs.setCurrentIndex(2)
    show(recorded(runs_dir, [], kind="CPU", devices=2))
    assert (plot.view, plot.tabs.count()) == ("memory", 2)
    plot.tabs.setCurrentIndex(1)
    show(live_run)
    assert (plot.view, plot.tabs.count()) == ("utilisation", 3)


def test_that_a_run_without_a_recording_says_so_quietly(qtbot, page, runs_dir):
    page.show_run(make_run(runs_dir, Script(trained=2.5, devices=2, ending="failed")))
    qtbot.waitUntil(lambda: page.live_run.record.over)
    plot = page.charts.devices
    assert plot.names == ["GPU:0", "GPU:1"]
    assert plot.caption.text.endswith("the machine was not recorded during this run")
    assert not plot.cards.isVisibleTo(page)
    plot.tabs.setCurrentIndex(1)
    assert plot.canvas.backdrop.empty == "the machine was not recorded during this run"


def test_that_the_page_with_cards_fits_the_smallest_window(show, page, runs_dir):
    plot = show(recorded(runs_dir, devices=8, identities=identities(TURNED), ending="failed"))
    for tab in range(plot.tabs.count()):
        plot.tabs.setCurrentIndex(tab)
        assert page.minimumSizeHint().width() <= 940
        assert page.minimumSizeHint().height() <= 600


def test_that_the_host_s_newest_figure_is_told_in_a_paused_run_too(qtbot, show, page, runs_dir):
    run = recorded(runs_dir, [], kind="CPU", devices=2)
    held = lock.take(run.lock_file)
    show(run)
    append(run, host(time.time() + 1, 900))
    qtbot.waitUntil(lambda: told_of(page, "whole")["host"] == "5.8")
    held.release()


def test_that_a_card_lost_while_the_run_goes_on_is_told_and_has_no_figures_of_now(
    qtbot, show, page, live_run
):
    plot = show(live_run)
    plot.tabs.setCurrentIndex(1)
    assert "–" not in told_of(page, "busy").values()
    gone = replace(EIGHT[-1], gone="lost: the driver no longer answers for it")
    append(live_run, samples.Cards(time=time.time(), cards=[*EIGHT[:-1], gone]))
    append(live_run, fast(EIGHT[:-1], time.time()))
    said = "The card of GPU:0 is lost: the driver no longer answers for it."
    qtbot.waitUntil(
        lambda: [each.text for each in page.concerns.concerns if each.level == "error"] == [said]
    )
    qtbot.waitUntil(lambda: told_of(page, "busy")["GPU:0"] == "–")
    assert told_of(page, "card")["GPU:0"] == "–"
    assert told_of(page, "busy")["GPU:1"] != "–"
    qtbot.waitUntil(lambda: plot.legend.entries[0].value == "lost")
    assert any(line.message.startswith(said) for line in page.live_run.log.since(0))


@pytest.mark.slow
def test_that_a_real_recording_is_followed_until_its_sampler_has_ended(
    qtbot, page, start, monkeypatch
):
    monkeypatch.setattr(card_record, "LAST_LOOK_MS", int(PATIENCE_S * 1000))
    launched = start("--hold-at", "3")
    sampler = accompany(launched.directory.path)
    page.show_run(launched.directory)
    plot = page.charts.devices
    plot.tabs.setCurrentIndex(1)
    qtbot.waitUntil(lambda: plot.names == ["host utilisation"], timeout=1000 * PATIENCE_S)
    with qtbot.waitSignal(page.live_run.ended):
        page.stop()
    assert sampler.wait(PATIENCE_S) == 0
    monkeypatch.setattr(card_record, "LAST_LOOK_MS", 0)
    page.live_run.record.finish()
    qtbot.waitUntil(lambda: page.live_run.record.over)
    size = launched.directory.hardware_file.stat().st_size
    assert page.live_run.record.tail.offset == size
    assert float(told_of(page, "busy")["host"]) >= 0
