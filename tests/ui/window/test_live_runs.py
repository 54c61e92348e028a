"""Every live run is visible.

In the status line and beside the Train page's title, one click away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from made_runs import Script, make_run
from PySide6.QtCore import Qt

from gpu_studio.contract import lock
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import Finished, StateChanged, encode
from gpu_studio.contract.files import append_line
from gpu_studio.runs.labels import Labels, write_labels
from gpu_studio.runs.studies import TAG
from gpu_studio.ui.kit.status_line import LiveButton
from gpu_studio.ui.window.main_window import MainWindow

LEFT = Qt.MouseButton.LeftButton
Begin = Callable[..., RunDirectory]


@pytest.fixture
def begin(runs: Path, tmp_path: Path) -> Iterator[Begin]:
    """Have a run begin as others begin one.

    Whole, and with its lock held, under its name from the first moment on.
    """
    held: dict[RunDirectory, lock.Lock] = {}

    def begun(name: str, *tags: str) -> RunDirectory:
        made = make_run(
            tmp_path / "elsewhere", Script(name=name, epochs=2, trained=1, steps=10, devices=1)
        )
        write_labels(made, Labels(tags=tags))
        taken = lock.take(made.lock_file)
        runs.mkdir(exist_ok=True)
        run = RunDirectory(made.path.rename(runs / made.id))
        held[run] = taken
        return run

    begun.held = held  # type: ignore[attr-defined]
    yield begun
    for each in held.values():
        each.release()


def end(begin: Begin, run: RunDirectory) -> None:
    append_line(run.events_file, encode(StateChanged(state="finished")))
    append_line(run.events_file, encode(Finished(reason="completed", seconds=1, epoch=2, step=20)))
    begin.held.pop(run).release()  # type: ignore[attr-defined]


def settled(window: MainWindow, qtbot) -> MainWindow:
    qtbot.waitUntil(lambda: window.settled)
    return window


def offered(button: LiveButton) -> list[tuple[str, bool]]:
    return (
        [(action.text(), action.isChecked()) for action in button.runs.actions()]
        if button.isVisible()
        else []
    )


def test_that_two_live_runs_are_both_in_sight_and_one_click_apart(
    open_window, begin, qtbot
) -> None:
    first, second = begin("first"), begin("second")
    window = settled(open_window(), qtbot)
    header = window.train_page.header.live
    shown = window.shown_run.run
    other = first if shown == second else second
    for button in (window.status_line.live, header):
        assert button.text() == "2 live"
        assert sorted(name.split(" ")[1] for name, _ in offered(button)) == ["first", "second"]
        assert [shown.id.split("-")[1] in name for name, checked in offered(button) if checked] == [
            True
        ]
    window.show_page("plan")
    (action,) = (
        action for action in window.status_line.live.runs.actions() if not action.isChecked()
    )
    action.trigger()
    assert (window.page, window.shown_run.run) == ("train", other)
    end(begin, shown)
    qtbot.waitUntil(lambda: not window.status_line.live.isVisible())
    assert not header.isVisible()


def test_that_a_run_that_another_starts_is_told_of_and_steals_no_page(
    open_window, begin, qtbot
) -> None:
    watched = begin("watched")
    window = settled(open_window(), qtbot)
    later = begin("later")
    qtbot.waitUntil(lambda: "later has started." in window.notice.text)
    assert window.shown_run.run == watched
    assert window.status_line.live.text() == "2 live"
    qtbot.mouseClick(window.notice.button, LEFT)
    assert (window.page, window.shown_run.run) == ("train", later)
    assert not window.notice.isVisible()


def test_that_of_a_study_the_first_run_is_told_of_and_the_others_cover_no_page(
    open_window, begin, qtbot
) -> None:
    """A message came with each of twelve runs, and lay over the study that was looked at."""
    window = settled(open_window(), qtbot)
    first = begin("point one", TAG)
    qtbot.waitUntil(lambda: "point one has started." in window.notice.text)
    end(begin, first)
    qtbot.waitUntil(lambda: not window.notice.isVisible())
    second = begin("point two", TAG)
    qtbot.waitUntil(lambda: window.services.live_watch.live == [second])
    assert not window.notice.isVisible()
    begin("alone")
    qtbot.waitUntil(lambda: "alone has started." in window.notice.text)


def test_that_the_train_page_follows_a_run_of_the_queue_while_nobody_looks_at_one_that_has_ended(
    open_window, begin, runs, qtbot
) -> None:
    old = make_run(runs, Script(epochs=1, trained=1, steps=10, ending="completed"))
    window = settled(open_window(), qtbot)
    window.show_run(old)
    qtbot.waitUntil(lambda: window.shown_run.state == "finished")
    seen = begin("seen")
    qtbot.waitUntil(lambda: "seen has started." in window.notice.text)
    assert window.shown_run.run == old
    assert window.status_line.live.text() == window.train_page.header.live.text() == "1 live"
    end(begin, seen)
    qtbot.waitUntil(lambda: not window.notice.isVisible())
    window.show_page("plan")
    queued = begin("queued")
    qtbot.waitUntil(lambda: window.shown_run.run == queued)
    assert window.page == "plan"
    assert "queued" in window.status_line.run_text or not window.shown_run.state
    assert not window.status_line.live.isVisible()
    assert window.notice.isVisible()


def test_that_the_first_run_of_all_is_seen_though_its_folder_was_not_there(
    open_window, begin, runs: Path, qtbot
) -> None:
    assert not runs.exists()
    window = settled(open_window(), qtbot)
    window.show_page("train")
    first = begin("first")
    qtbot.waitUntil(lambda: window.shown_run is not None)
    assert window.shown_run.run == first
    assert window.status_line.live.text() == "1 live" or window.page == "train"
