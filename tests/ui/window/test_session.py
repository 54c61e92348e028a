"""The window comes back as it was, however it ended: its place, its page, the run that it shows."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from made_runs import Script, make_run

from gpu_studio.contract import lock
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.plan import Plan, save
from gpu_studio.ui.kit.settings import GEOMETRY, PAGE, SHOWN_RUN, Settings
from gpu_studio.ui.window import session
from gpu_studio.ui.window.main_window import MainWindow


@pytest.fixture
def ended(runs: Path) -> RunDirectory:
    """A run that has ended."""
    return make_run(runs, Script(epochs=1, trained=1, steps=3, devices=1))


def shown(window: MainWindow) -> RunDirectory | None:
    return window.shown_run.run if window.shown_run is not None else None


def test_that_page_and_run_come_back_with_the_next_window(
    open_window, ended: RunDirectory, qtbot
) -> None:
    window = open_window()
    assert (window.page, shown(window)) == ("plan", None)
    window.show_run(ended)
    again = open_window()  # the first one was not closed: it may as well have been killed
    assert (again.page, shown(again)) == ("train", ended)
    again.show_page("devices")
    third = open_window()
    assert (third.page, shown(third)) == ("devices", None)
    qtbot.waitUntil(lambda: third.settled)
    assert (third.page, shown(third)) == ("devices", ended)


def test_that_the_place_of_the_window_is_written_when_it_moves(
    open_window, settings: Settings, monkeypatch, qtbot
) -> None:
    monkeypatch.setattr(session, "SOON_MS", 1)
    window = open_window()
    window.resize(1024, 700)
    qtbot.waitUntil(lambda: settings.get(GEOMETRY) == bytes(window.saveGeometry().data()))
    again = open_window()
    assert again.size() == window.size()


def test_that_a_run_that_is_gone_or_never_was_one_leads_to_the_plan_page(
    open_window, ended: RunDirectory, runs: Path, settings: Settings
) -> None:
    for name in ("", "../runs", "/etc", "20260101T000000Z-none-0000"):
        assert session._run_in(runs, name) is None
    settings.set(PAGE, "train")
    settings.set(SHOWN_RUN, ended.id)
    shutil.rmtree(ended.path)
    window = open_window()
    assert (window.page, shown(window)) == ("plan", None)


def test_that_a_live_run_is_shown_unless_it_was_followed_already_and_left(
    open_window, runs: Path, ended: RunDirectory, settings: Settings
) -> None:
    settings.set(SHOWN_RUN, ended.id)
    settings.set(PAGE, "runs")
    live = make_run(runs, Script(epochs=2, trained=1, steps=3, devices=1))
    held = lock.take(live.lock_file)
    window = open_window()
    assert (window.page, shown(window)) == ("train", live)
    window.show_page("runs")
    assert open_window().page == "runs"
    held.release()


def test_that_a_window_that_is_asked_for_a_plan_shows_that(
    open_window, ended: RunDirectory, settings: Settings, tmp_path: Path, qtbot
) -> None:
    path = tmp_path / "asked.plan.toml"
    save(Plan(name="asked"), path)
    for wanted in ({"plan": path}, {"fresh": True}):
        settings.set(SHOWN_RUN, ended.id)
        settings.set(PAGE, "train")
        window = open_window(**wanted)
        qtbot.waitUntil(lambda window=window: window.settled)
        assert (window.page, shown(window)) == ("plan", None)


def test_that_a_session_manager_is_told_the_command_that_opens_this_window_again(
    open_window, tmp_path: Path, runs: Path
) -> None:
    path = tmp_path / "kept é.plan.toml"
    save(Plan(name="kept"), path)
    window = open_window(path)
    window.show_page("devices")
    told: list[list[str]] = []
    window.session.tell_how_to_come_back(SimpleNamespace(setRestartCommand=told.append))
    [command] = told
    assert command[1:4] == ["-P", "-m", "gpu_studio"]
    assert command[4:] == ["--runs-dir", str(runs), "--page", "devices", str(path)]
