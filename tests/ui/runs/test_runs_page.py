from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from desktop_stand_in import Opener
from made_runs import Script, make_run
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices
from real_runs import fake_trainer

from gpu_studio.contract import checkpoints, lock
from gpu_studio.plan import save, starter
from gpu_studio.plan.edits.training import set_training
from gpu_studio.runs import catalogue
from gpu_studio.ui.window.main_window import MainWindow


@pytest.fixture
def two_runs(runs):
    """An older run that has finished and a newer one that is lost."""
    finished = make_run(runs, Script(name="older", ending="completed", epochs=2, trained=2))
    lost = make_run(runs, Script(name="newer", epochs=4, trained=2))
    later = lost.path.with_name(f"9{lost.id[1:]}")
    lost.path.rename(later)
    return finished, type(lost)(later)


@pytest.fixture
def window(open_window, two_runs, qtbot) -> MainWindow:
    """The window on its Runs page, with two runs in the list."""
    made = open_window(trainer=fake_trainer("--hold-at", "3"))
    made.show_page("runs")
    qtbot.waitUntil(lambda: len(made.run_list.page.model.rows) == 2)
    return made


def names(window: MainWindow) -> list[str]:
    return [row.name for row in window.run_list.page.model.rows]


def test_that_all_runs_are_listed_and_their_folder_named(window: MainWindow, runs) -> None:
    assert names(window) == ["newer", "older"]
    assert [summary.state for summary in window.run_list.page.model.rows] == ["lost", "finished"]
    assert window.run_list.page.caption.text() == "2"


def test_that_nothing_can_be_done_to_a_run_before_one_is_selected(
    window: MainWindow, two_runs
) -> None:
    of_one = ("open_run", "open_run_plan", "resume_run", "reveal_run", "delete_run")
    assert window.run_list.page.chosen == []
    assert not any(window.actions_[name].isEnabled() for name in of_one)
    assert "Select a run" in window.actions_["open_run"].toolTip()
    window.run_list.page.select(two_runs[0].id)
    assert all(window.actions_[name].isEnabled() for name in of_one)


def test_that_return_shows_the_selected_run(window: MainWindow, two_runs, qtbot) -> None:
    window.run_list.page.select(two_runs[0].id)
    qtbot.keyClick(window.run_list.page.table, Qt.Key.Key_Return)
    assert window.page == "train"
    assert window.shown_run is not None
    assert window.shown_run.run == two_runs[0]


def test_that_delete_can_be_undone(window: MainWindow, two_runs, qtbot) -> None:
    window.run_list.page.select(two_runs[0].id)
    qtbot.keyClick(window.run_list.page.table, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: names(window) == ["newer"])
    assert not two_runs[0].exists()
    qtbot.mouseClick(window.notice.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: names(window) == ["newer", "older"])
    assert two_runs[0].exists()


def test_that_the_keys_of_undo_bring_back_deleted_runs_and_leave_the_plan_alone(
    window: MainWindow, two_runs, qtbot
) -> None:
    window.show_page("plan")
    qtbot.waitUntil(lambda: window.document.plan is not None)
    before = window.document.plan
    edited = set_training(before, seed=7)
    window.document.replace(edited, "Seed")
    window.show_page("runs")
    window.run_list.page.select(two_runs[0].id)
    qtbot.keyClick(window.run_list.page.table, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: names(window) == ["newer"])
    undo(window, qtbot)
    qtbot.waitUntil(lambda: names(window) == ["newer", "older"])
    undo(window, qtbot)
    assert window.document.plan == edited
    assert "on the Plan page" in window.notice.text
    qtbot.mouseClick(window.notice.button, Qt.MouseButton.LeftButton)
    assert window.page == "plan"
    undo(window, qtbot)
    assert window.document.plan == before


def undo(window: MainWindow, qtbot) -> None:
    qtbot.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)


def test_that_a_live_run_can_be_shown_but_neither_deleted_nor_resumed(
    open_window, two_runs, qtbot
) -> None:
    held = lock.take(two_runs[1].lock_file)
    try:
        window = open_window()
        window.show_page("runs")
        qtbot.waitUntil(lambda: len(window.run_list.page.model.rows) == 2)
        assert [summary.state for summary in window.run_list.page.model.rows] == [
            "running",
            "finished",
        ]
        window.run_list.page.select(two_runs[1].id)
        assert window.run_list.page.caption.text() == "2 · 1 live"
        assert not window.actions_["delete_run"].isEnabled()
        assert "still training" in window.actions_["resume_run"].toolTip()
        qtbot.keyClick(window.run_list.page.table, Qt.Key.Key_Delete)
        assert window.notice.text == "This run is still training: stop it before you delete it."
        assert window.actions_["open_run"].isEnabled()
        window.run_list.page.select(two_runs[0].id, two_runs[1].id)
        qtbot.keyClick(window.run_list.page.table, Qt.Key.Key_F2)
        assert window.notice.text.startswith("Select one run only")
    finally:
        held.release()


def test_that_a_run_that_came_alive_meanwhile_is_not_deleted(window: MainWindow, two_runs) -> None:
    window.run_list.page.select(two_runs[1].id)
    held = lock.take(two_runs[1].lock_file)
    try:
        window.actions_["delete_run"].trigger()
        assert "still training" in window.notice.text
        assert two_runs[1].exists()
    finally:
        held.release()


def test_that_the_plan_of_a_run_is_opened_as_one_without_a_file(
    window: MainWindow, two_runs, qtbot
) -> None:
    window.run_list.page.select(two_runs[0].id)
    window.actions_["open_run_plan"].trigger()
    assert window.page == "plan"
    assert window.document.plan is not None
    assert window.document.plan.name == "older"
    assert window.document.path is None


def test_that_a_resumed_run_is_a_new_one_and_shown_and_another_program_s_is_not_waited_for(
    window: MainWindow, two_runs, runs, qtbot, monkeypatch
) -> None:
    plan = starter(window.inventory.machine)
    save(plan, two_runs[1].plan_file)
    window.run_list.page.select(two_runs[1].id)
    with monkeypatch.context() as waiting, ExitStack() as held:
        waiting.setattr("gpu_studio.common.safe_files._RETRY_SECONDS", -1.0)  # no sleep is so short
        for checkpoint in checkpoints(two_runs[1]):
            state = held.enter_context((checkpoint.path / "state.json").open("rb"))
            fcntl.flock(state, fcntl.LOCK_EX)
            # Not by closing: a process that the window starts just then would hold it for a moment.
            held.callback(fcntl.flock, state, fcntl.LOCK_UN)
        window.actions_["resume_run"].trigger()
        assert "Another program is just now resuming" in window.notice.text
    window.actions_["resume_run"].trigger()
    assert window.page == "train"
    assert window.shown_run is not None
    assert window.shown_run.run not in two_runs
    assert len(catalogue.directories(runs)) == 3
    qtbot.waitUntil(lambda: window.shown_run.history.started is not None)
    assert window.shown_run.history.started.resumed_from == two_runs[1].id


def test_that_a_run_with_nothing_to_resume_from_says_so(window: MainWindow, two_runs) -> None:
    for checkpoint in two_runs[1].checkpoints.iterdir():
        (checkpoint / "state.json").unlink()
    window.run_list.page.select(two_runs[1].id)
    window.actions_["resume_run"].trigger()
    assert "no complete checkpoint" in window.notice.text
    assert window.page == "runs"


@pytest.fixture
def file_manager(qapp) -> Iterator[Opener]:
    manager = Opener()
    QDesktopServices.setUrlHandler("file", manager, "open")
    yield manager
    QDesktopServices.unsetUrlHandler("file")


def test_that_the_folder_of_a_run_is_revealed(
    window: MainWindow, two_runs, file_manager: Opener
) -> None:
    window.run_list.page.select(two_runs[0].id)
    window.actions_["reveal_run"].trigger()
    assert file_manager.asked == [str(two_runs[0].path)]


def test_that_the_list_is_read_only_while_it_is_seen(window: MainWindow) -> None:
    timer = window.run_list.page.reader.timer
    assert timer.isActive()
    window.show_page("plan")
    assert not timer.isActive()
    window.show_page("runs")
    assert timer.isActive()


@pytest.mark.slow
def test_that_a_new_run_appears_by_itself(window: MainWindow, runs, qtbot) -> None:
    make_run(runs, Script(name="brand new", ending="completed", epochs=1, trained=1))
    qtbot.waitUntil(lambda: "brand new" in names(window))


def test_that_no_runs_yet_is_said_in_words(open_window, qtbot) -> None:
    window = open_window()
    window.show_page("runs")
    qtbot.waitUntil(lambda: not window.run_list.page.reader.busy)
    assert window.run_list.page.empty.isVisible()
    assert not window.run_list.page.card.isVisible()


def test_that_no_run_is_said_to_be_missing_before_the_folder_has_been_listed(
    open_window, two_runs, qtbot
) -> None:
    page = open_window().run_list.page
    page.window().show_page("runs")
    assert page.model.all == []
    assert (page.reading.isVisible(), page.empty.isVisible()) == (True, False)
    assert page.reading.text() == "Reading the runs…"
    qtbot.waitUntil(lambda: len(page.model.all) == 2)
    assert (page.reading.isVisible(), page.empty.isVisible()) == (False, False)


def test_that_an_empty_folder_says_how_to_begin_once_it_was_listed(open_window, qtbot) -> None:
    page = open_window().run_list.page
    page.window().show_page("runs")
    qtbot.waitUntil(page.empty.isVisible)
    assert not page.reading.isVisible()
