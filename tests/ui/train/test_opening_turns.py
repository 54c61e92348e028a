"""Opening a long run, and following one: no turn of the event loop does all of it.

None does the same twice.
"""

from __future__ import annotations

import pytest
import train_pages
from made_runs import Script, make_run, tell
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QWidget

from gpu_studio.contract import events, lock
from gpu_studio.runs.reading.event_file import RunPreview
from gpu_studio.ui.train import live_run
from gpu_studio.ui.train.header import RunHeader
from gpu_studio.ui.train.live_run import LiveRun

LONG = Script(trained=60, epochs=60, steps=1000, per_call=10, call_seconds=0.5, ending="completed")


class Turns(QObject):
    """Counts the turns of the event loop, and notes in which of them something is done."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.done: dict[str, list[int]] = {}
        timer = QTimer(self)
        timer.timeout.connect(self._next)
        timer.start(0)

    def _next(self) -> None:
        self.number += 1

    def watch(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
        """Note the turn of each call of this method."""
        real, noted = getattr(owner, name), self.done.setdefault(name, [])

        def noting(*given: object, **named: object) -> object:
            noted.append(self.number)
            return real(*given, **named)

        monkeypatch.setattr(owner, name, noting)


@pytest.fixture
def turns(qapp):
    made = Turns()
    yield made
    made.deleteLater()


@pytest.fixture
def page(qtbot, theme, settings):
    return train_pages.opened(qtbot, theme, settings)


def test_that_a_long_run_is_looked_at_put_together_and_shown_in_turns_of_their_own(
    qtbot, runs_dir, monkeypatch, turns
):
    monkeypatch.setattr(live_run, "SMALLEST", 1024 * 1024)
    monkeypatch.setattr(live_run, "SLICE_MS", 0)
    monkeypatch.setattr(live_run, "AHEAD_MS", 0)
    turns.watch(monkeypatch, RunPreview, "look")
    turns.watch(monkeypatch, RunPreview, "history")
    turns.watch(monkeypatch, LiveRun, "_show_seen")
    live = LiveRun(make_run(runs_dir, LONG))
    with qtbot.waitSignal(live.loaded):
        live.start()
    live.close()
    (first, last), (together,), (shown,) = (
        turns.done[name] for name in ("look", "history", "_show_seen")
    )
    assert first <= last < together < shown


def test_that_each_plot_of_a_run_is_drawn_in_a_turn_of_its_own_once_it_has_ended(
    qtbot, page, runs_dir, monkeypatch, turns
):
    page.show_run(make_run(runs_dir, LONG))
    qtbot.waitUntil(lambda: page.live_run.state == "finished" and not page.live_run.reading)
    kinds = {type(plot) for plot in page.charts.plots}
    before = page.charts.redraws
    page.charts.draw_in_turns()
    assert page.charts.redraws == before
    for kind in kinds:
        turns.watch(monkeypatch, kind, "draw_soon")
    wanted = len(page.charts.plots)
    qtbot.waitUntil(lambda: len(turns.done["draw_soon"]) == wanted)
    assert len(set(turns.done["draw_soon"])) == wanted


class Paints(QObject):
    """Counts how often a widget is painted."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Paint
        return False


def test_that_the_bar_of_progress_is_painted_with_the_rest_and_not_by_itself(qtbot, theme):
    header = RunHeader(theme)
    qtbot.addWidget(header)
    header.show()
    qtbot.waitExposed(header)
    header.set_progress(0.1)
    painted = Paints(header.bar)
    qtbot.waitUntil(lambda: painted.count > 0)
    before = painted.count
    header.set_progress(0.5)
    assert painted.count == before
    qtbot.waitUntil(lambda: painted.count > before)
    assert header.bar.value() == 500


def test_that_plots_that_follow_a_run_are_drawn_each_in_a_turn_of_its_own(
    qtbot, page, runs_dir, monkeypatch, turns
):
    run = make_run(runs_dir, Script(devices=2, trained=3.5))
    held = lock.take(run.lock_file)
    page.show_run(run)
    charts = page.charts
    qtbot.waitUntil(lambda: page.live_run.state == "running" and not page.live_run.reading)
    charts.rest()
    charts.time.zoom(600, 701)
    qtbot.waitUntil(lambda: not charts.drawing)
    for kind in {type(plot) for plot in charts.plots}:
        turns.watch(monkeypatch, kind, "draw_soon")
    before, shown = charts.redraws, charts.time.window
    told = events.Steps(epoch=4, first_step=700, losses=[0.5] * 60, samples=2560, seconds=0.1)
    tell(run, told)
    qtbot.waitUntil(lambda: page.live_run.history.losses.total == 760)
    charts.tick()
    assert charts.time.window.end > shown.end
    assert charts.redraws == before
    qtbot.waitUntil(lambda: not charts.drawing)
    visible = sum(plot.isVisible() for plot in charts.plots)
    assert charts.redraws == before + visible
    assert len(set(turns.done["draw_soon"])) == len(charts.plots)
    followed = [plot.canvas.grab().toImage() for plot in charts.plots]
    charts.draw()
    assert [plot.canvas.grab().toImage() for plot in charts.plots] == followed
    held.release()
