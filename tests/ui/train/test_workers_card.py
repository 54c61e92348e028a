"""The workers of a run on the Train page: a row each, who is waited for, and their logs."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_runs import Script, make_run, tell
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gpu_studio.contract import events, lock
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.event_parts import WorkerPlace, WorkerShare, WorkerState
from gpu_studio.runs.worker_stack import StackError
from gpu_studio.ui.kit.basic_widgets import Paragraph
from gpu_studio.ui.kit.dialogs import TraceDialog
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.train import workers_card
from gpu_studio.ui.train.live_run import LiveRun
from gpu_studio.ui.train.workers_card import WorkersCard

CLUSTER = events.ClusterStarted(
    attempt=0,
    start="local",
    workers=[
        WorkerPlace(role="worker", index=0, host="vm", pid=7),
        WorkerPlace(role="worker", index=1, host="vm", pid=8, folder="workers/0-worker-1"),
    ],
)


def told(compute: float, **second: Any) -> events.Workers:
    """Worker 1 computes so long; of 30 ms a step the rest is waiting."""
    common: dict[str, Any] = {"role": "worker", "state": "training", "step": 9, "memory": 1 << 20}
    states = [
        WorkerState(**common, index=0, compute=0.01, wait=0.02),
        WorkerState(**{**common, "compute": compute, "wait": 0.03 - compute, **second}, index=1),
    ]
    return events.Workers(workers=states)


@pytest.fixture
def live(qtbot: QtBot, qapp: QApplication, runs_dir: Path) -> Iterator[LiveRun]:
    run = make_run(runs_dir, Script(trained=4.2))
    held = lock.take(run.lock_file)
    live = LiveRun(run)
    with qtbot.waitSignal(live.loaded):
        live.start()
    yield live
    live.close()
    held.release()


@pytest.fixture
def card(qtbot: QtBot, theme: ThemeManager, live: LiveRun) -> WorkersCard:
    card = WorkersCard(theme)
    qtbot.addWidget(card)
    card.resize(1100, 120)
    card.restart(live)
    return card


def show(qtbot: QtBot, card: WorkersCard, live: LiveRun, event: events.Event) -> None:
    with qtbot.waitSignal(live.changed):
        tell(live.run, event)
    card.refresh(live.history.workers, live=live.live)


def test_that_a_run_of_one_process_has_no_rows(card: WorkersCard) -> None:
    assert card.isHidden()


def test_that_each_worker_has_a_row_and_the_one_that_is_waited_for_is_named(
    qtbot: QtBot, card: WorkersCard, live: LiveRun
) -> None:
    show(qtbot, card, live, CLUSTER)
    assert [row.title for row in card.rows] == ["worker 0", "worker 1"]
    assert "waiting" in card.rows[1].line.words
    show(qtbot, card, live, told(0.028))
    assert card.rows[1].line.words == (
        "worker 1 (vm, process 8), training, step 9, computes 28.0 ms of a step and waits 2.00 ms, "
        "holds 1 MiB"
    )
    assert card.note.text().startswith("The other waits for worker 1")
    show(qtbot, card, live, told(0.010))
    assert card.note.isHidden()


def test_that_a_lost_and_a_silent_worker_are_drawn_as_such(
    qtbot: QtBot, card: WorkersCard, live: LiveRun
) -> None:
    show(qtbot, card, live, CLUSTER)
    show(qtbot, card, live, told(0.010, seen=9.0))
    silent = card.rows[1].line
    assert "silent for 9.0 s" in silent.words
    card.show()
    before = silent.grab().toImage()
    show(qtbot, card, live, told(0.010, seen=0.1))
    assert silent.grab().toImage() != before


def test_that_a_worker_whose_disk_is_full_is_drawn_as_such(
    qtbot: QtBot, card: WorkersCard, live: LiveRun
) -> None:
    show(qtbot, card, live, CLUSTER)
    show(qtbot, card, live, told(0.010, refusal=os.strerror(errno.ENOSPC)))
    full = card.rows[1].line
    assert full.words.endswith("holds 1 MiB, disk full")
    card.show()
    before = full.grab().toImage()
    show(qtbot, card, live, told(0.010))
    assert full.grab().toImage() != before


def test_that_a_workers_output_is_shown_on_a_click(
    qtbot: QtBot, card: WorkersCard, live: LiveRun
) -> None:
    show(qtbot, card, live, CLUSTER)
    folder = live.run.path / "workers/0-worker-1"
    folder.mkdir(parents=True)
    (folder / "trainer.log").write_text("first line\nlast line\n")
    card.rows[1].log.click()
    (dialog,) = card.findChildren(TraceDialog)
    assert dialog.windowTitle() == "Output of worker 1"
    assert dialog.details.toPlainText().endswith("last line")
    dialog.close()


@pytest.mark.parametrize(
    ("found", "said"),
    [("Thread 1: in all_reduce", "Where each thread of worker 1 was"), ("", "Worker 1 has ended.")],
)
def test_that_a_workers_stack_is_shown_on_a_click(
    qtbot: QtBot,
    card: WorkersCard,
    live: LiveRun,
    monkeypatch: pytest.MonkeyPatch,
    found: str,
    said: str,
) -> None:
    def stack_of(run: RunDirectory, title: str, _cancelled: object) -> str:
        assert (run, title) == (live.run, "worker 1")
        if not found:
            raise StackError("Worker 1 has ended.")
        return found

    monkeypatch.setattr(workers_card, "stack_of", stack_of)
    show(qtbot, card, live, CLUSTER)
    assert not card.rows[1].stack.isEnabled(), "it has not told yet that it is there"
    show(qtbot, card, live, told(0.010))
    card.rows[1].stack.click()
    assert not card.rows[1].stack.isEnabled(), "it is asked once at a time"
    qtbot.waitUntil(lambda: bool(card.findChildren(TraceDialog)))
    (dialog,) = card.findChildren(TraceDialog)
    assert dialog.windowTitle() == "Stack of worker 1"
    assert dialog.details.toPlainText() == found
    assert dialog.findChild(Paragraph).text().startswith(said)
    assert card.rows[1].stack.isEnabled()
    dialog.close()


def test_that_with_fewer_workers_there_are_fewer_rows(
    qtbot: QtBot, card: WorkersCard, live: LiveRun
) -> None:
    show(qtbot, card, live, CLUSTER)
    alone = events.ClusterStarted(attempt=1, start="local", workers=CLUSTER.workers[:1])
    show(qtbot, card, live, alone)
    assert len(card.rows) == 1


def test_that_what_each_worker_of_a_chief_does_is_drawn_and_said(
    qtbot: QtBot, card: WorkersCard, live: LiveRun
) -> None:
    shares = [
        WorkerShare(index=0, steps=30, samples=300, pace=276.0, seconds=0.01, lag=0.5, lag_most=3),
        WorkerShare(index=1, steps=10, samples=100, pace=90.0, seconds=0.1, lag=2.5, lag_most=4),
    ]
    states = [
        WorkerState(role="chief", index=0, state="training", step=40, memory=1 << 20),
        *(
            WorkerState(role="worker", index=each.index, state="training", share=each)
            for each in shares
        ),
        WorkerState(role="server", index=0, state="training", memory=2048),
    ]
    show(qtbot, card, live, events.Workers(workers=states))
    assert [row.title for row in card.rows] == ["chief", "worker 0", "worker 1", "server 0"]
    assert card.rows[2].line.words == (
        "worker 1 (), training, 10 steps, 25 % of the samples, 90 samples/s, lag 2.50, at most 4, "
        "100 ms a step"
    )
    assert card.rows[3].line.words == "server 0 (), training, holds 2 KiB"
    assert card.note.isHidden()
    first = card.rows[1].line.grab().toImage()
    moved = [replace(states[1], share=replace(shares[0], samples=100)), *states[2:]]
    show(qtbot, card, live, events.Workers(workers=[states[0], *moved]))
    assert card.rows[1].line.grab().toImage() != first, "its part is drawn"
