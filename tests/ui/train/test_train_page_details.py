"""The log and the checkpoints under the plots."""

from __future__ import annotations

import pytest
from made_runs import Script, make_run, tell
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from gpu_studio.contract import events, lock
from gpu_studio.contract.events import Checkpoint
from gpu_studio.ui.kit.theme import DARK, LIGHT, ThemeManager
from gpu_studio.ui.train.checkpoints_pane import BEST, CheckpointsModel
from gpu_studio.ui.train.details_card import CHECKPOINTS, DetailsCard
from gpu_studio.ui.train.live_run import LiveRun
from gpu_studio.ui.train.run_log import MOST_LINES, LogView, ShownLine


@pytest.fixture
def theme(qapp):
    return ThemeManager("dark")


@pytest.fixture
def log(qtbot, theme):
    log = LogView(theme)
    qtbot.addWidget(log)
    log.resize(500, 120)
    log.show()
    return log


@pytest.fixture
def live(qtbot, qapp, runs_dir):
    run = make_run(runs_dir, Script(trained=4.2))
    held = lock.take(run.lock_file)
    live = LiveRun(run)
    with qtbot.waitSignal(live.loaded):
        live.start()
    yield live
    live.close()
    held.release()


@pytest.fixture
def card(qtbot, theme, live):
    card = DetailsCard(theme)
    qtbot.addWidget(card)
    card.resize(1100, 160)
    card.show()
    card.restart(live)
    card.refresh(live)
    return card


def saved(step, *, best=False):
    return Checkpoint(
        name=f"step-{step:08}", epoch=1, step=step, bytes=1000, seconds=0.1, best=best, value=0.5
    )


def shown(model):
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def test_that_the_log_holds_the_events_words_with_their_time_and_a_sign_for_their_level(card):
    lines = card.log.events.toPlainText().splitlines()
    told = [line.split("  ", 1)[1] for line in lines]
    assert [line.split()[0] for line in told if "⚠" not in line][:6] == [
        "started", "TensorFlow", "mlp,", "running", "epoch", "checkpoint",
    ]  # fmt: skip
    assert sum("⚠ " in line for line in lines) == 1


def test_that_a_refresh_adds_only_what_is_new(qtbot, card, live):
    before = card.log.events.blockCount()
    with qtbot.waitSignal(live.changed):
        tell(live.run, events.Log(message="one more"))
    card.refresh(live)
    card.refresh(live)
    assert card.log.events.blockCount() == before + 1


def test_that_the_filter_keeps_lines_with_all_its_words(qtbot, card):
    qtbot.keyClicks(card.log.filter, "val_loss EPOCH 3")
    lines = card.log.events.toPlainText().splitlines()
    assert len(lines) >= 1
    assert all("epoch 3" in line or "3" in line for line in lines)
    assert any("epoch 3 " in line for line in lines)
    card.log.filter.clear()
    assert len(card.log.events.toPlainText().splitlines()) > len(lines)


def test_that_the_processs_output_can_be_seen_and_is_read_on(qtbot, card, live):
    card.log.choose("output")
    assert "tensorflow/core: line 39" in card.log.output.toPlainText()
    with live.run.log_file.open("a") as file:
        file.write("and more\n")
    card.refresh(live)
    assert card.log.output.toPlainText().endswith("and more")


def test_that_the_checkpoints_that_are_kept_stand_in_a_table_newest_first(card, live):
    assert card.tabs.text(CHECKPOINTS) == "Checkpoints 3"
    card.tabs.open(CHECKPOINTS)
    assert card.table.isVisible()
    assert not card.log.tools.isVisible()
    assert shown(card.checkpoints) == ["step-00000800", "step-00000600", "step-00000400"]


def test_that_the_log_follows_its_end_until_a_person_scrolls_up(qtbot, log):
    log.add([ShownLine(f"line {number}") for number in range(100)])
    bar = log.verticalScrollBar()
    assert bar.value() == bar.maximum()
    qtbot.keyClick(log, Qt.Key.Key_PageUp)
    bar.triggerAction(bar.SliderAction.SliderPageStepSub)
    assert not log.following
    where = bar.value()
    log.add([ShownLine("new")])
    assert bar.value() == where
    bar.triggerAction(bar.SliderAction.SliderToMaximum)
    assert log.following
    log.add([ShownLine("newer")])
    assert bar.value() == bar.maximum()


def test_that_the_newest_line_stays_in_sight_when_the_log_is_made_smaller(qtbot, log):
    log.add([ShownLine(f"line {number}") for number in range(100)])
    log.resize(300, 60)
    bar = log.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.value() == bar.maximum() > 90)


def test_that_following_can_be_switched(qtbot, card):
    view = card.log.events
    view.verticalScrollBar().triggerAction(view.verticalScrollBar().SliderAction.SliderToMinimum)
    card.resize(1100, 90)
    qtbot.waitUntil(lambda: view.verticalScrollBar().maximum() > 0)
    view.verticalScrollBar().triggerAction(view.verticalScrollBar().SliderAction.SliderToMinimum)
    assert not card.log.follow.isChecked()
    qtbot.mouseClick(card.log.follow, Qt.MouseButton.LeftButton)
    assert view.following
    assert view.verticalScrollBar().value() == view.verticalScrollBar().maximum()


def test_that_the_log_keeps_its_newest_lines_only(log):
    log.add([ShownLine(str(number)) for number in range(MOST_LINES + 500)])
    assert log.blockCount() == MOST_LINES
    assert log.toPlainText().endswith(str(MOST_LINES + 499))


def test_that_levels_have_colours_that_change_with_the_theme(log, theme):
    log.add([ShownLine("fine"), ShownLine("careful", "warning"), ShownLine("broken", "error")])

    def colours():
        block, found = log.document().begin(), []
        while block.isValid():
            found.append(block.begin().fragment().charFormat().foreground().color().name())
            block = block.next()
        return found

    assert colours() == [DARK.muted, DARK.warning, DARK.bad]
    theme.set_mode("light")
    assert colours() == [LIGHT.muted, LIGHT.warning, LIGHT.bad]


def test_that_the_table_follows_checkpoints_that_come_and_go(qapp):
    model = CheckpointsModel()
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    for kept in ([], [1], [1, 2], [2, 3, 4], [3], [3, 1], [7, 8, 9], []):
        model.set_checkpoints([saved(step) for step in kept])
        assert shown(model) == [f"step-{step:08}" for step in reversed(kept)]
    assert tester.model() is model


def test_that_only_the_newest_of_those_that_were_the_best_is_called_best(qtbot, qapp):
    model = CheckpointsModel()
    model.set_checkpoints([saved(1, best=True), saved(2)])
    with qtbot.waitSignal(model.dataChanged):
        model.set_checkpoints([saved(1, best=True), saved(2), saved(3, best=True)])
    assert [model.index(row, BEST).data() for row in range(3)] == ["★ best", "", ""]


def test_that_a_checkpoint_without_a_value_shows_none(qapp):
    model = CheckpointsModel()
    model.set_checkpoints([Checkpoint(name="a", epoch=1, step=2, bytes=3, seconds=0.004)])
    assert [model.index(0, column).data() for column in range(model.columnCount())] == [
        "a", "1", "2", "", "", "3 B", "4.00 ms", "",
    ]  # fmt: skip
