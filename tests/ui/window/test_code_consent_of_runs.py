"""Runs and queued plans with Python of one's own: nothing starts before its user has allowed it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from made_runs import Script, make_run, tell
from own_code import PLAN, allow, code, dialog_of, press, questions, untouched, window
from PySide6.QtCore import Qt
from real_runs import train_by_hand

from gpu_studio.contract import events, lock
from gpu_studio.contract.consent import allow_file, withdraw
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.plan import loads, save
from gpu_studio.plan.references import with_absolute_files
from gpu_studio.runs import catalogue
from gpu_studio.runs.queue import Queue
from gpu_studio.ui.plan.code_dialogs import AllowDialog
from gpu_studio.ui.window.main_window import MainWindow

__all__ = ["code", "questions", "window"]


@pytest.fixture
def queued(window, code: Path, runs: Path, qtbot) -> Iterator[MainWindow]:
    """The window with the plan in the queue, selected and held, its code changed since.

    Nobody works the queue off.
    """
    runs.mkdir(exist_ok=True)
    held = lock.take(Queue(runs).runner_lock)
    entry = Queue(runs).add(loads(PLAN), code.parent)
    Queue(runs).hold(entry.id)
    allow_file(code, b"before")
    window.show_page("runs")
    window.queue.read()
    window.queue.select(entry.id)
    yield window
    held.release()


@pytest.mark.parametrize("action", ["queue_hold", "queue_start"])
def test_that_releasing_or_starting_a_queued_plan_asks_first(queued, qtbot, action) -> None:
    queued.actions_[action].trigger()
    assert "it has changed since it was allowed" in dialog_of(queued).text
    (entry,) = queued.queue.queue.entries()
    assert entry.held
    allow(qtbot, queued)
    (entry,) = queued.queue.queue.entries()
    assert not entry.held


def own_run(runs: Path, code: Path, *flags: str) -> RunDirectory:
    """A run of the plan, made while its code was allowed."""
    allow_file(code, code.read_bytes())
    run = RunDirectory.create(runs, "own")
    save(with_absolute_files(loads(PLAN), code.parent), run.plan_file)
    train_by_hand(run, *flags)
    withdraw(code)
    return run


def test_that_going_on_with_a_run_asks_first(window, code, runs, qtbot) -> None:
    run = own_run(runs, code, "--vanish-at", "7", "--checkpoint-every", "3")
    window.runs.resume(run)
    assert len(catalogue.directories(runs)) == 1
    qtbot.keyClick(dialog_of(window), Qt.Key.Key_Escape)
    assert len(catalogue.directories(runs)) == 1
    window.runs.resume(run)
    allow(qtbot, window)
    assert len(catalogue.directories(runs)) == 2


def test_that_duplicating_a_run_and_resuming_it_with_changes_only_opens_its_plan(
    window, code, runs, questions
) -> None:
    run = own_run(runs, code, "--vanish-at", "7", "--checkpoint-every", "3")
    for open_plan in (window.run_plans.duplicate, window.run_plans.resume_with_changes):
        open_plan(run)
        assert window.document.plan.model.python == f"{code}:build_model"
        assert window.readiness.not_allowed
        assert [each for each in window.findChildren(AllowDialog) if each.isVisible()] == []
    assert questions() == 0
    assert untouched(code)


def test_that_a_checkpoint_is_evaluated_only_once_its_code_is_allowed(
    window, code, runs, qtbot
) -> None:
    run = own_run(runs, code, "--vanish-at", "7", "--checkpoint-every", "3")
    window.show_run(run)
    details = window.train_page.details
    qtbot.waitUntil(lambda: details.table.model().rowCount() > 0)
    details.table.selectRow(0)
    window.actions_["evaluate_checkpoint"].trigger()
    assert dialog_of(window).path == code
    assert window.checkpoint_jobs.jobs == ()
    qtbot.keyClick(dialog_of(window), Qt.Key.Key_Escape)
    assert window.checkpoint_jobs.jobs == ()


def failed_run(runs: Path, code: Path, plan: str = PLAN, message: str = "") -> RunDirectory:
    """A run that failed in the user's own code."""
    run = make_run(runs, Script(name="own", epochs=1, trained=0.1))
    save(with_absolute_files(loads(plan), code.parent), run.plan_file)
    message = message or f"{code.name} may not run: nothing of it has been run yet."
    advice = [f"Read it, then allow it with: gpu-studio code allow {code}", "Look at it."]
    tell(run, events.Failed(message=message, suggestions=advice, kind="user_code"))
    return run


def test_that_a_run_that_failed_for_want_of_consent_offers_it_and_the_way_to_the_plan(
    window, code, runs, qtbot
) -> None:
    window.show_run(failed_run(runs, code))
    banner = window.train_page.outcome
    qtbot.waitUntil(banner.allow.isVisible)
    assert "may not run" in banner.message.text()
    assert banner.suggestions.text() == "•  Look at it."
    press(qtbot, banner.allow)
    allow(qtbot, window)
    assert banner.allow.isHidden()
    press(qtbot, banner.source)
    assert window.page == "plan"
    assert window.plan_page.workspace.current == "Model"
    assert window.document.path == code.with_name("own.plan.toml"), (
        "it is the plan that is open already"
    )


def test_that_another_plan_s_run_opens_its_own_plan_at_its_data(window, code, runs, qtbot) -> None:
    allow_file(code, code.read_bytes())
    plan = f'[model]\nname = "mlp"\n[data]\npython = "{code}:load"\n'
    window.show_run(failed_run(runs, code, plan, f"{code.name} stopped in line 3 with ValueError."))
    banner = window.train_page.outcome
    qtbot.waitUntil(banner.source.isVisible)
    assert banner.allow.isHidden()
    press(qtbot, banner.source)
    assert window.plan_page.workspace.current == "Data"
    assert window.document.plan.data.python == f"{code}:load"
    assert window.document.path is None


def test_that_other_failures_offer_neither(window, runs, qtbot) -> None:
    run = make_run(runs, Script(name="other", epochs=1, trained=0.1))
    tell(run, events.Failed(message="It diverged.", suggestions=[], kind="not_finite"))
    window.show_run(run)
    banner = window.train_page.outcome
    qtbot.waitUntil(banner.isVisible)
    assert banner.source.isHidden()
    assert banner.allow.isHidden()
