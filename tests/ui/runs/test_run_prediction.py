"""The Plan page's prediction for a run is saved beside it."""

from __future__ import annotations

import made_plan_facts
import pytest
from PySide6.QtCore import Qt
from real_runs import fake_trainer

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import encoded
from gpu_studio.runs.results import prediction
from gpu_studio.runs.results.prediction import Prediction
from gpu_studio.ui.runs import run_prediction
from gpu_studio.ui.runs.run_prediction import keep_prediction


def test_that_training_writes_down_what_the_plan_page_says(open_window, qtbot) -> None:
    window = open_window(trainer=fake_trainer())
    window.show_page("plan")
    qtbot.waitUntil(lambda: window.facts.facts is not None and not window.facts.asking)
    shown = {
        name: row.prospect.total
        for name, row in window.plan_page.outlook.rows.items()
        if row.prospect.total
    }
    window.actions_["train"].trigger()
    run = window.shown_run.run
    assert shown
    assert prediction.read(run) == Prediction(bytes=shown)
    qtbot.waitUntil(lambda: window.shown_run.state == "finished")


@pytest.mark.parametrize("remembers", [True, False])
def test_that_a_run_that_is_resumed_or_run_again_has_the_prediction_of_its_plan(
    open_window, qtbot, monkeypatch, remembers
) -> None:
    window = open_window(trainer=fake_trainer())
    window.show_page("plan")
    qtbot.waitUntil(lambda: window.facts.facts is not None and not window.facts.asking)
    window.actions_["train"].trigger()
    run = window.shown_run.run
    qtbot.waitUntil(lambda: window.shown_run.state == "finished")
    if not remembers:
        # As in a window that was opened since, where the answers were kept on disk.
        monkeypatch.setattr(window.facts, "known_of", lambda _plan: None)
        monkeypatch.setattr(
            run_prediction, "kept_about", lambda _plan: encoded(made_plan_facts.FACTS)
        )
    for begin in (window.runs.again, window.runs.resume):
        window.runs.breath.stop()
        begin(run)
        assert window.shown_run.run.id != run.id
        assert prediction.read(window.shown_run.run) == prediction.read(run) is not None
        qtbot.waitUntil(lambda: window.shown_run.state == "finished")


def test_that_a_run_of_which_nothing_is_known_has_no_prediction(open_window, qtbot) -> None:
    window = open_window(trainer=fake_trainer())
    window.show_page("runs")
    qtbot.keyClick(window, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: window.shown_run is not None)
    run = window.shown_run.run
    assert prediction.read(run) is None
    qtbot.waitUntil(lambda: window.shown_run.state == "finished")


def test_that_a_step_s_time_is_kept_where_it_was_measured(tmp_path, open_window) -> None:
    window = open_window()
    plan, machine = window.document.plan, window.inventory.machine
    run = RunDirectory.create(tmp_path, "r")
    keep_prediction(run, plan, machine, None, 0.025)
    assert prediction.read(run) == Prediction(step_seconds=0.025)
    keep_prediction(run, plan, machine, made_plan_facts.FACTS, None)
    taken = {
        each.device: each.total
        for each in predict(plan, machine, made_plan_facts.FACTS)
        if each.total
    }
    assert prediction.read(run) == Prediction(bytes=taken)
