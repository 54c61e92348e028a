"""A run is deleted, moved or made unreadable while it is shown: the page says so and survives."""

from __future__ import annotations

import os
import shutil

import pytest
from made_runs import Script, make_run
from PySide6.QtCore import Qt
from real_runs import PLAN, fake_trainer

from gpu_studio.contract import lock
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs import catalogue
from gpu_studio.runs.launch import launch
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.train.train_page import TrainPage


@pytest.fixture
def page(qtbot, qapp):
    page = TrainPage(ThemeManager("dark"))
    qtbot.addWidget(page, before_close_func=TrainPage.close_run)
    page.resize(1196, 746)
    with qtbot.waitExposed(page):
        page.show()
    return page


def show(qtbot, page, run) -> None:
    page.show_run(run)
    qtbot.waitUntil(lambda: page.live_run.state is not None and not page.live_run.reading)


def ask_everything(page) -> None:
    for ask in (page.toggle_pause, page.checkpoint_now, page.stop, page.stop_now):
        ask()
    page.details.refresh(page.live_run)
    page.details.log.choose("output")
    for row in range(page.details.checkpoints.rowCount()):
        page.details.table.selectRow(row)
        page.details.table.want("reveal")


def test_that_a_run_that_is_deleted_is_said_to_be_gone_until_it_is_taken_back(
    qtbot, page, runs_dir
) -> None:
    run = make_run(runs_dir, Script(trained=3, ending="stopped"))
    show(qtbot, page, run)
    page.gone.look()
    assert not page.gone.isVisible()
    catalogue.delete(run)
    page.gone.look()
    assert page.gone.isVisible()
    assert "deleted or moved" in page.gone.words.text()
    assert page.gone.words.text().endswith(f"gpu-studio runs restore {run.id}")
    asking = (page.header.again, page.header.evaluate, page.header.save)
    assert [each.isEnabled() for each in asking] == [False] * 3
    assert {each.toolTip() for each in asking} == {"The folder of this run is gone"}
    assert page.why_no_checkpoint("evaluate") == "The folder of this run is gone"
    ask_everything(page)
    catalogue.restore(runs_dir, run.id)
    page.gone.look()
    assert not page.gone.isVisible()
    assert [each.isEnabled() for each in asking] == [True] * 3
    assert page.why_no_checkpoint("reveal") == ""


def test_that_the_runs_page_is_offered(qtbot, page, runs_dir) -> None:
    run = make_run(runs_dir, Script(trained=1, ending="completed"))
    show(qtbot, page, run)
    shutil.rmtree(run.path)
    page.gone.look()
    with qtbot.waitSignal(page.runs_wanted):
        qtbot.mouseClick(page.gone.button, Qt.MouseButton.LeftButton)


def test_that_a_live_run_whose_folder_is_removed_ends_as_lost_and_can_still_be_read(
    qtbot, page, runs_dir
) -> None:
    run = make_run(runs_dir, Script(trained=3.5))
    held = lock.take(run.lock_file)
    try:
        show(qtbot, page, run)
        shutil.rmtree(run.path)
        qtbot.waitUntil(lambda: page.gone.isVisible())
        qtbot.waitUntil(lambda: page.live_run.state == "lost")
        assert page.live_run.history.step == 700
        ask_everything(page)
    finally:
        held.release()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_that_a_run_that_may_no_longer_be_read_says_so(qtbot, page, runs_dir) -> None:
    run = make_run(runs_dir, Script(trained=3.5))
    held = lock.take(run.lock_file)
    try:
        show(qtbot, page, run)
        run.events_file.chmod(0)
        qtbot.waitUntil(lambda: page.gone.isVisible())
        assert "cannot be read" in page.gone.words.text()
    finally:
        held.release()


def test_that_an_events_file_that_becomes_a_folder_is_said_to_be_unreadable(
    qtbot, page, runs_dir
) -> None:
    run = make_run(runs_dir, Script(trained=3.5))
    held = lock.take(run.lock_file)
    try:
        show(qtbot, page, run)
        run.events_file.unlink()
        run.events_file.mkdir()
        qtbot.waitUntil(lambda: page.gone.isVisible())
        assert page.gone.words.text().startswith("The run cannot be read: Is a directory")
        ask_everything(page)
    finally:
        held.release()


def test_that_a_run_that_never_was_is_shown_as_gone(qtbot, page, runs_dir) -> None:
    page.show_run(RunDirectory(runs_dir / "20261120T000000Z-nothing-0000"))
    qtbot.waitUntil(lambda: page.gone.isVisible())
    ask_everything(page)


def test_that_the_trainer_of_a_run_that_was_moved_is_not_called_lost_and_can_be_ended(
    qtbot, page, runs_dir
) -> None:
    launched = launch(PLAN, runs_dir, trainer=fake_trainer("--hold-at", "2"))
    try:
        page.show_run(launched.directory)
        qtbot.waitUntil(lambda: page.live_run.history.step == 2)
        moved = RunDirectory(launched.directory.path.rename(runs_dir.parent / "moved away"))
        qtbot.waitUntil(
            lambda: page.live_run.astray is not None and page.gone.end.isVisible(),
        )
        assert page.live_run.state == "running"
        said = page.gone.words.text()
        assert (
            f"was moved to {moved.path}. Its trainer, process {launched.process.pid}, still runs"
            in said
        )
        assert launched.poll() is None
        page.gone.end.click()
        assert "was asked to end (SIGTERM)" in page.gone.words.text()
        qtbot.waitUntil(lambda: launched.poll() is not None)
        qtbot.waitUntil(
            lambda: page.live_run.state == "lost" and not page.gone.end.isVisible(),
        )
        assert "The folder of this run is gone" in page.gone.words.text()
    finally:
        launched.process.kill()
        launched.process.wait()


def test_that_a_run_that_is_put_back_where_it_was_goes_on_as_if_nothing_had_been(
    qtbot, page, runs_dir
) -> None:
    run = make_run(runs_dir, Script(trained=3.5))
    held = lock.take(run.lock_file)
    try:
        show(qtbot, page, run)
        away = run.path.rename(runs_dir.parent / "away")
        qtbot.waitUntil(lambda: page.live_run.astray is not None and page.gone.isVisible())
        away.rename(run.path)
        qtbot.waitUntil(lambda: page.live_run.astray is None and not page.gone.isVisible())
        assert page.live_run.state == "running"
    finally:
        held.release()
