"""The window opened on a page, with helpers for tests on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from made_machines import TWO_CARDS
from made_runs import Ending, Script, make_run
from pytestqt.qtbot import QtBot

from gpu_studio.ui.window.main_window import MainWindow


def with_runs(window: MainWindow, qtbot: QtBot, count: int) -> MainWindow:
    """The window on the Runs page, once `count` runs are listed there."""
    window.show_page("runs")
    qtbot.waitUntil(lambda: len(window.run_list.page.model.all) == count)
    return window


def with_shown_run(
    open_window: Callable[..., MainWindow], runs: Path, qtbot: QtBot, ending: Ending
) -> MainWindow:
    """A window with cards, a run that ended so, which is selected and shown, and a notice."""
    run = make_run(runs, Script(ending=ending, epochs=2, trained=2))
    made = with_runs(open_window(machine=TWO_CARDS), qtbot, 1)
    made.run_list.page.select(run.id)
    made.show_run(run)
    qtbot.waitUntil(
        lambda: made.shown_run is not None and made.shown_run.state in ("finished", "failed")
    )
    made.notice.say("Something to read.", "plain", "Undo", lambda: None)
    return made
