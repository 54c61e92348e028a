"""Checkpoints and log in the whole window: menus, shortcuts, palette.

What the window does with what the page asks.
"""

from __future__ import annotations

from made_placements import mlp_placement
from made_runs import MIB, Script, make_run, tell
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from real_runs import ended, fake_trainer, start

from gpu_studio.contract import events, lock
from gpu_studio.ui.train.header import NO_CHECKPOINT
from gpu_studio.ui.train.training_plots import NEVER
from gpu_studio.ui.window.window_state import NO_PLACEMENT, NO_RUN, NOTHING_DONE

__all__ = ["ended", "start"]

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
CHECKPOINTS = (
    *("resume_checkpoint", "evaluate_checkpoint", "predict_checkpoint"),
    *("save_checkpoint", "reveal_checkpoint"),
)


def show(qtbot, window, run) -> None:
    window.show_run(run)
    qtbot.waitUntil(lambda: window.shown_run.state is not None and not window.shown_run.reading)
    window.train_page.details.refresh(window.shown_run)


def test_that_without_a_run_they_say_why_they_cannot_be_done(window) -> None:
    for name in (*CHECKPOINTS, "find_next", "save_log"):
        assert (window.actions_[name].isEnabled(), window.actions_[name].toolTip()) == (
            False,
            NO_RUN,
        )
    assert window.actions_["cancel_checkpoints"].toolTip() == NOTHING_DONE


def test_that_a_checkpoint_is_acted_on_by_the_menu_once_it_is_selected(qtbot, window, runs) -> None:
    run = make_run(runs, Script(trained=3, ending="stopped"))
    show(qtbot, window, run)
    assert window.actions_["evaluate_checkpoint"].toolTip() == "Select a checkpoint"
    window.train_page.details.table.selectRow(1)
    assert all(window.actions_[name].isEnabled() for name in CHECKPOINTS)
    asked: list[tuple[str, str]] = []
    window.runs.resume = lambda run, name=None: asked.append((run.id, name))
    window.actions_["resume_checkpoint"].trigger()
    assert asked == [(run.id, "step-00000400")]


def test_that_a_run_goes_on_from_that_very_checkpoint(qtbot, open_window, ended) -> None:
    run = ended("--vanish-at", "7", "--checkpoint-every", "2").directory
    window = open_window(trainer=fake_trainer())
    show(qtbot, window, run)
    window.train_page.details.table.selectRow(window.train_page.details.checkpoints.rowCount() - 1)
    window.train_page.details.table.buttons["resume"].click()
    qtbot.waitUntil(
        lambda: window.shown_run.run != run and window.shown_run.history.started is not None
    )
    started = window.shown_run.history.started
    assert (started.resumed_from, started.from_step) == (run.id, 2)


def test_that_the_placement_is_copied_from_the_menu_once_the_run_has_told_it(
    qtbot, window, runs
) -> None:
    copy = window.actions_["copy_placement"]
    assert copy.toolTip() == NO_RUN
    run = make_run(runs, Script(kind="CPU", trained=0.5))
    held = lock.take(run.lock_file)
    show(qtbot, window, run)
    assert (copy.isEnabled(), copy.toolTip()) == (False, NO_PLACEMENT)
    tell(run, mlp_placement())
    qtbot.waitUntil(copy.isEnabled)
    copy.trigger()
    layers, crossings = QGuiApplication.clipboard().text().split("\n\n")
    assert len(layers.splitlines()) == 6
    assert "\ndense → dense_1\tCPU:0 → CPU:2\t" in crossings
    held.release()


def test_that_ctrl_f_finds_in_the_log_on_the_train_page_and_runs_elsewhere(
    qtbot, window, runs
) -> None:
    show(qtbot, window, make_run(runs, Script(trained=3, ending="stopped")))
    bar = window.train_page.details.log.find_bar
    qtbot.keyClick(window, Qt.Key.Key_F, CTRL)
    assert bar.isVisible()
    qtbot.keyClicks(bar.field, "epoch")
    qtbot.keyClick(window, Qt.Key.Key_F3)
    assert bar.found.text().startswith("2 of ")
    qtbot.keyClick(window, Qt.Key.Key_F3, SHIFT)
    assert bar.found.text().startswith("1 of ")
    window.show_page("devices")
    qtbot.keyClick(window, Qt.Key.Key_F, CTRL)
    assert window.page == "runs"


def test_that_a_warning_stands_at_the_windows_foot_on_every_page(qtbot, window, runs) -> None:
    run = make_run(runs, Script(trained=3.5, warning_at=0))
    held = lock.take(run.lock_file)
    try:
        show(qtbot, window, run)
        window.show_page("devices")
        full = events.DeviceMemory(
            device="GPU:0", current=970 * MIB, peak=970 * MIB, source="allocator", limit=1000 * MIB
        )
        tell(run, events.Memory(devices=[full]))
        qtbot.waitUntil(
            lambda: "⚠ GPU:0 uses 97 % of its memory limit" in window.status_line.run_text
        )
    finally:
        held.release()


def test_that_what_the_page_tells_is_a_notice_and_a_run_that_is_gone_leads_to_the_runs(
    qtbot, window, runs
) -> None:
    show(qtbot, window, make_run(runs, Script(trained=3, ending="stopped")))
    window.train_page.reported.emit("The model is in a.keras.", "plain")
    assert window.notice.text == "The model is in a.keras."
    window.train_page.gone.button.click()
    assert window.page == "runs"


def test_that_the_head_of_an_ended_run_offers_what_is_done_next(qtbot, window, runs) -> None:
    live = make_run(runs, Script(trained=2))
    held = lock.take(live.lock_file)
    show(qtbot, window, live)
    head = window.train_page.header
    assert [each.isVisible() for each in (head.pause, head.again, head.evaluate, head.save)] == [
        True,
        *[False] * 3,
    ]
    tell(live, events.Finished(reason="completed", seconds=9.0, epoch=2, step=400))
    held.release()
    qtbot.waitUntil(lambda: window.shown_run.state == "finished")
    assert [each.isVisible() for each in (head.pause, head.again, head.evaluate, head.save)] == [
        False,
        *[True] * 3,
    ]
    asked: list[str] = []
    table = window.train_page.details.table
    table.wanted.disconnect(window.train_page.details.desk._do)
    table.wanted.connect(asked.append)
    qtbot.mouseClick(head.evaluate, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(head.save, Qt.MouseButton.LeftButton)
    assert asked == ["evaluate", "save"]
    assert window.train_page.details.tabs.current == "Checkpoints"
    assert [saved.best for saved in table.selected] == [True]


def test_that_without_a_checkpoint_the_head_says_why_nothing_is_evaluated(
    qtbot, window, runs
) -> None:
    show(qtbot, window, make_run(runs, Script(trained=0, ending="stopped")))
    head = window.train_page.header
    assert head.again.isEnabled()
    assert (head.evaluate.isEnabled(), head.evaluate.toolTip()) == (False, NO_CHECKPOINT)
    assert (head.save.isEnabled(), head.save.toolTip()) == (False, NO_CHECKPOINT)


def test_that_a_run_is_run_again_as_a_new_one_with_the_same_plan(qtbot, open_window, ended) -> None:
    run = ended().directory
    window = open_window(trainer=fake_trainer())
    show(qtbot, window, run)
    again = window.train_page.header.again
    begun: list[object] = []
    window.runs.started.connect(begun.append)
    qtbot.mouseClick(again, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(again, Qt.MouseButton.LeftButton)  # in one breath
    qtbot.waitUntil(
        lambda: window.shown_run.run != run and window.shown_run.history.started is not None
    )
    assert window.shown_run.history.started.resumed_from is None
    assert window.shown_run.run.plan_file.read_text() == run.plan_file.read_text()
    assert begun == [window.shown_run.run]


def test_that_a_run_without_a_step_says_so_plainly(qtbot, window, runs) -> None:
    show(qtbot, window, make_run(runs, Script(trained=0, ending="stopped")))
    window.train_page.charts.draw()
    assert window.train_page.charts.loss.canvas.backdrop.empty == NEVER


def test_that_on_a_narrow_page_the_result_has_room_beside_the_buttons(qtbot, window, runs) -> None:
    show(qtbot, window, make_run(runs, Script(trained=2, ending="completed")))
    head = window.train_page.header
    window.resize(1024, 680)
    qtbot.waitUntil(lambda: head.save.text() == "")
    assert (head.evaluate.text(), head.evaluate.accessibleName(), head.again.text()) == (
        "",
        "Evaluate",
        "Run again",
    )
    window.resize(1280, 800)
    qtbot.waitUntil(lambda: head.save.text() == "Save model…")
    assert head.save.accessibleName() == "Save model"
