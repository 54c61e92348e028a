"""The queue by the window: from the Plan page into it, and on top of the Runs page."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from made_machines import TWO_CARDS
from PySide6.QtCore import QMimeData, QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QMenu
from real_runs import PLAN, fake_trainer

from gpu_studio.common.figures import moment
from gpu_studio.contract import lock
from gpu_studio.placement import memory
from gpu_studio.placement.plan_facts import DataFacts, PlanFacts
from gpu_studio.plan import Plan, load
from gpu_studio.runs import catalogue
from gpu_studio.runs import queue as queueing
from gpu_studio.runs.launch import TRAINER_VARIABLE
from gpu_studio.runs.queue import Queue
from gpu_studio.runs.queue_entry import Wait
from gpu_studio.ui.kit.basic_widgets import Label
from gpu_studio.ui.runs.queue_card import QueueCard
from gpu_studio.ui.runs.queue_model import MIME, QueueModel, QueueRow
from gpu_studio.ui.window.main_window import MainWindow

CTRL, SHIFT, ALT = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.AltModifier,
)
MOVE = Qt.DropAction.MoveAction


@pytest.fixture
def runner_lock(runs: Path):
    """The lock of the queue's runner, held."""
    runs.mkdir()
    held = lock.take(Queue(runs).runner_lock)
    yield held
    held.release()


@pytest.fixture
def queue(runner_lock: lock.Lock, runs: Path) -> Queue:
    """A queue that seems to be worked off, and is not."""
    return Queue(runs)


@pytest.fixture
def filled(queue: Queue, open_window, qtbot) -> MainWindow:
    """A window on the Runs page, and three plans in the queue, the second selected."""
    for name in ("one", "two", "three"):
        queue.add(replace(PLAN, name=name), queue.runs)
    window = open_window()
    window.show_page("runs")
    card(window).table.selectRow(1)
    assert window.queue.selected == queue.entries()[1].id
    return window


def card(window: MainWindow) -> QueueCard:
    (found,) = window.run_list.page.findChildren(QueueCard)
    return found


def names(queue: Queue) -> list[str]:
    return [entry.name for entry in queue.entries()]


def shown(window: MainWindow) -> list[str]:
    return [row.entry.name for row in window.queue.model.rows]


def test_that_the_open_plan_goes_into_the_queue_by_the_keyboard_and_the_menu(
    queue, open_window, qtbot
) -> None:
    window = open_window()
    qtbot.waitUntil(window.actions_["queue_plan"].isEnabled)
    qtbot.keyClick(window, Qt.Key.Key_Return, CTRL | SHIFT)
    assert names(queue) == [window.document.plan.name]
    assert "is in the queue" in window.notice.text
    menus = [
        menu
        for menu in window.plan_page.findChildren(QMenu)
        if window.actions_["queue_plan"] in menu.actions()
    ]
    menus[0].actions()[1].trigger()
    assert len(queue.entries()) == 2
    assert catalogue.directories(queue.runs) == []


def test_that_a_plan_with_problems_is_not_queued(queue, open_window, qtbot) -> None:
    window = open_window()
    qtbot.waitUntil(window.actions_["queue_plan"].isEnabled)
    plan = window.document.plan
    window.document.replace(replace(plan, training=replace(plan.training, epochs=0)), "spoil")
    assert "training.epochs" in window.actions_["queue_plan"].toolTip()
    window.queue.add_plan()
    assert queue.entries() == ()


def test_that_the_card_is_there_only_while_something_waits(filled, queue, qtbot) -> None:
    assert card(filled).isVisible()
    assert shown(filled) == ["one", "two", "three"]
    needs = filled.queue.model.index(0, 1).data()
    assert needs == "the CPU, with no other run"
    table = card(filled).table
    assert table.fontMetrics().horizontalAdvance(needs) + 24 <= table.columnWidth(1)
    for entry in queue.entries():
        queue.drop(entry.id)
    qtbot.waitUntil(lambda: not card(filled).isVisible())
    assert not filled.actions_["queue_up"].isEnabled()


def test_that_what_another_process_adds_is_seen_while_the_page_is_and_read_only_then(
    filled, queue, qtbot
) -> None:
    queue.add(replace(PLAN, name="four"), queue.runs)
    qtbot.waitUntil(lambda: shown(filled) == ["one", "two", "three", "four"])
    first = queue.entries()[0].id
    queue.tell({first: "waits for 3.0 GiB on GPU:1: 1.2 GiB free"})
    said = f"Waits since {moment(queue.waits()[first].since)} for 3.0 GiB on GPU:1: 1.2 GiB free"
    qtbot.waitUntil(lambda: filled.queue.model.index(0, 2).data() == said)
    filled.show_page("plan")
    queue.add(replace(PLAN, name="five"), queue.runs)
    with qtbot.assertNotEmitted(filled.queue.changed, wait=200):
        pass
    filled.show_page("runs")
    assert shown(filled)[-1] == "five"


def test_that_the_queue_is_folded_to_its_head_and_stays_so_in_the_next_window(
    filled, open_window, qtbot
) -> None:
    folded = card(filled)
    before = folded.height()
    qtbot.mouseClick(folded.fold, Qt.MouseButton.LeftButton)
    assert not folded.table.isVisible()
    assert "2 plans" in folded.count.text() or "3 plans" in folded.count.text()
    qtbot.waitUntil(lambda: folded.height() < before)
    following = open_window()
    following.show_page("runs")
    qtbot.waitUntil(card(following).isVisible)
    assert not card(following).table.isVisible()
    qtbot.mouseClick(card(following).fold, Qt.MouseButton.LeftButton)
    assert card(following).table.isVisible()


def test_that_alt_and_the_arrows_move_the_selected_plan_which_stays_selected(
    filled, queue, qtbot
) -> None:
    qtbot.keyClick(card(filled).table, Qt.Key.Key_Up, ALT)
    assert names(queue) == ["two", "one", "three"]
    assert not filled.actions_["queue_up"].isEnabled()
    assert card(filled).table.selectionModel().selectedRows()[0].row() == 0
    for _ in range(2):
        qtbot.mouseClick(card(filled).buttons["queue_down"], Qt.MouseButton.LeftButton)
    assert names(queue) == ["one", "three", "two"]
    assert "last already" in filled.actions_["queue_down"].toolTip()


def test_that_a_plan_is_held_and_released_by_the_same_button(filled, queue, qtbot) -> None:
    button = card(filled).buttons["queue_hold"]
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert queue.entries()[1].held
    assert (button.text(), filled.queue.model.index(1, 2).data()) == ("Release", "Held by hand")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not queue.entries()[1].held
    assert button.text() == "Hold"


def test_that_a_plan_lets_others_pass_and_has_its_devices_kept_again_by_the_same_button(
    filled, queue, qtbot
) -> None:
    button = card(filled).buttons["queue_pass"]
    assert button.text() == "Let others pass"
    queue.tell({queue.entries()[1].id: "waits for its turn, after one"})
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert queue.entries()[1].lets_pass
    assert (
        filled.queue.model.index(1, 2)
        .data()
        .endswith(", letting others pass, for its turn, after one")
    )
    assert button.text() == "Keep devices"
    filled.actions_["queue_pass"].trigger()
    assert not queue.entries()[1].lets_pass
    assert button.text() == "Let others pass"


def test_that_a_plan_that_can_never_fit_is_not_queued_and_told_why(
    queue, open_window, qtbot, monkeypatch
) -> None:
    window = open_window(machine=TWO_CARDS)
    qtbot.waitUntil(window.actions_["queue_plan"].isEnabled)
    monkeypatch.setattr(window.queue, "_predicted", lambda _plan: ({"GPU:0": 99 << 30}, (), ()))
    window.queue.add_plan()
    assert (
        "needs 99 GiB on GPU 0, which can give 21.4 GiB: it would wait for ever"
        in window.notice.text
    )
    assert queue.entries() == ()


def test_that_what_the_script_gives_fit_is_counted_before_its_plan_is_queued(
    queue, open_window, qtbot, monkeypatch
) -> None:
    window = open_window(machine=TWO_CARDS)
    qtbot.waitUntil(window.actions_["queue_plan"].isEnabled)
    training = replace(window.document.plan.training, batch_size=32, as_in_script=("batch_size",))
    window.document.replace(replace(window.document.plan, training=training), "leave it")
    facts = PlanFacts(DataFacts("train.py", "classes", 2, 9, fit={"batch_size": 7}))
    asked: list[Plan] = []
    monkeypatch.setattr(window.facts, "known_of", lambda _plan: facts)
    monkeypatch.setattr(memory, "predict", lambda plan, *_: asked.append(plan) or ())
    window.queue._predicted(window.document.absolute)
    assert [each.training.batch_size for each in asked] == [7]


def test_that_a_removed_plan_comes_back_where_it_stood(filled, queue, qtbot) -> None:
    qtbot.keyClick(card(filled).table, Qt.Key.Key_Delete)
    assert names(queue) == ["one", "three"]
    assert "two was taken out" in filled.notice.text
    filled.notice.button.click()
    assert names(queue) == ["one", "two", "three"]
    assert shown(filled) == ["one", "two", "three"]


def test_that_start_now_is_told_to_the_runner(filled, queue, qtbot) -> None:
    qtbot.mouseClick(card(filled).buttons["queue_start"], Qt.MouseButton.LeftButton)
    assert [entry.now for entry in queue.entries()] == [False, True, False]
    assert filled.queue.model.index(1, 2).data() == "Starts now"


def test_that_a_plan_which_has_left_meanwhile_is_told_of(filled, queue) -> None:
    queue.drop(queue.entries()[1].id)
    filled.queue.remove()
    assert "no longer in the queue" in filled.notice.text
    assert shown(filled) == ["one", "three"]


def test_that_a_queue_that_nobody_works_any_more_is_seen_and_goes_on_by_a_button(
    filled, runner_lock, queue, qtbot, monkeypatch
) -> None:
    def started(_runs: Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    assert not card(filled).go_on.isVisible()
    qtbot.waitUntil(lambda: filled.settled)  # it has seen to the runner, as any window does once
    monkeypatch.setattr(queueing, "ensure_runner", started)
    monkeypatch.setattr("gpu_studio.runs.queue.STARTING_SECONDS", 0.0)
    filled.queue._pulse.setInterval(10)
    runner_lock.release()  # as if it were killed: no file changes
    qtbot.waitUntil(card(filled).go_on.isVisible)
    assert "3 plans · nobody works the queue" in [
        label.text() for label in card(filled).findChildren(Label)
    ]
    assert filled.queue.model.index(0, 2).data() == "Waits: nobody works the queue"
    qtbot.mouseClick(card(filled).go_on, Qt.MouseButton.LeftButton)
    assert not card(filled).go_on.isVisible()
    assert not filled.actions_["queue_go_on"].isEnabled()
    runner = filled.queue.runner
    runner.stdin.close()
    qtbot.waitUntil(card(filled).go_on.isVisible)  # it has come to nothing
    assert runner.poll() is not None


def test_that_a_window_that_opens_has_what_waits_worked_off_again(
    runs, open_window, qtbot, monkeypatch
) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(queueing, "ensure_runner", asked.append)
    Queue(runs).add(PLAN, runs)
    open_window()
    qtbot.waitUntil(lambda: asked == [runs])


def test_that_a_queue_that_cannot_be_worked_off_is_told_of(
    filled, runner_lock, monkeypatch
) -> None:
    def fails(_runs: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(queueing, "ensure_runner", fails)
    filled.queue.go_on()
    assert "cannot be worked off: No space left on device" in filled.notice.text


@pytest.mark.parametrize(
    ("dragged", "row", "order"),
    [
        (0, 2, ["two", "one", "three"]),
        (2, 0, ["three", "one", "two"]),
        (0, -1, ["two", "three", "one"]),
    ],
)
def test_that_a_row_is_dragged_to_another_place(filled, queue, dragged, row, order) -> None:
    model = filled.queue.model
    data = model.mimeData([model.index(dragged, 0)])
    assert model.dropMimeData(data, MOVE, row, 0, QModelIndex())
    assert names(queue) == order
    assert shown(filled) == order


@pytest.mark.parametrize("text", ["[]", "{", '"gone-1234"', "7"])
def test_that_what_is_no_row_of_the_queue_is_not_dropped(filled, queue, text) -> None:
    data = QMimeData()
    assert not filled.queue.model.dropMimeData(data, MOVE, 0, 0, QModelIndex())
    data.setData(MIME, text.encode())
    assert not filled.queue.model.dropMimeData(data, MOVE, 0, 0, QModelIndex())
    assert names(queue) == ["one", "two", "three"]


def test_that_the_model_keeps_the_rules_of_item_models(queue, qtbot) -> None:
    model = QueueModel()
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    entries = [queue.add(replace(PLAN, name=name), queue.runs) for name in "ab"]
    model.set_rows([QueueRow(entry, "") for entry in entries])
    model.set_rows([QueueRow(entry, "", Wait("waits for x")) for entry in entries])
    model.set_rows([QueueRow(entry, "") for entry in reversed(entries)])
    model.set_rows([])
    assert tester.model() is model
    assert json.loads(bytes(model.mimeData([]).data(MIME).data()) or b"null") is None


@pytest.mark.slow
def test_that_a_queued_plan_is_trained_without_the_window_doing_anything(
    open_window, runs, qtbot, monkeypatch
) -> None:
    monkeypatch.setenv(TRAINER_VARIABLE, shlex.join(fake_trainer()))
    window = open_window()
    qtbot.waitUntil(window.actions_["queue_plan"].isEnabled)
    window.actions_["queue_plan"].trigger()
    qtbot.waitUntil(lambda: Queue(runs).entries() == () and not Queue(runs).has_runner)
    (run,) = catalogue.directories(runs)
    assert load(run.plan_file).name == window.document.plan.name
    qtbot.waitUntil(lambda: not lock.held(run.lock_file))
    qtbot.waitUntil(lambda: run.hardware_file.exists() and not window.runs.records)
