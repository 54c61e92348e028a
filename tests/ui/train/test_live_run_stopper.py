from __future__ import annotations

import pytest
from made_runs import Script, make_run

from gpu_studio.contract import lock
from gpu_studio.contract.directory import CommandReader
from gpu_studio.ui.train.live_run import NOW, OFFER_AFTER, Stopper


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def run(runs_dir):
    """A run whose lock is held by nobody who has signed it: it can be asked, but not signalled."""
    run = make_run(runs_dir, Script(trained=0.5, epochs=1))
    held = lock.take(run.lock_file)
    run.lock_file.write_text("")
    yield run
    held.release()


@pytest.fixture
def made(qapp, run):
    clock = Clock()
    stoppers = []

    def make(**options):
        stoppers.append(Stopper(run, clock=clock, **options))
        return stoppers[-1], clock

    yield make
    for stopper in stoppers:
        stopper.close()


def test_that_a_polite_stop_asks_and_is_overdue_only_after_a_while(made, run):
    stopper, clock = made()
    assert [command.action for command in CommandReader(run.commands_file).read()] == ["stop"]
    assert not stopper.overdue
    clock.now = OFFER_AFTER
    assert stopper.overdue
    assert stopper.next_rung == "Terminate"


def test_that_a_polite_stop_never_signals_by_itself(made):
    stopper, clock = made()
    clock.now = 1e6
    stopper.tick()
    assert stopper.stage == "asked"


def test_that_being_overdue_is_told(qtbot, made):
    stopper, clock = made()
    clock.now = OFFER_AFTER
    with qtbot.waitSignal(stopper.changed):
        stopper.tick()


def test_that_a_stop_now_is_never_offered_to_be_escalated_because_it_does_so_itself(qtbot, made):
    stopper, clock = made(now=True)
    clock.now = NOW.asked
    assert not stopper.overdue
    with qtbot.waitSignal(stopper.changed):
        stopper.tick()
    assert "process" in stopper.words


def test_that_a_trainer_that_is_gone_ends_the_watch(qtbot, runs_dir, qapp):
    run = make_run(runs_dir, Script(trained=0.5, epochs=1))
    stopper = Stopper(run)
    qtbot.waitUntil(lambda: stopper.stage == "gone")
    assert stopper.words == ""
    assert stopper.next_rung == ""
    assert not stopper.timer.isActive()
