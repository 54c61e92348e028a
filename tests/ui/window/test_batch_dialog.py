"""The largest batch is searched in a study's dialog; a study is stopped after the run under way."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from made_studies import PLAN, made_study
from patience import PATIENCE_S
from real_runs import eventually, fake_trainer, kill_trainers

from gpu_studio.lab.largest_batch import LargestBatch, in_words
from gpu_studio.lab.study import load_study
from gpu_studio.plan import save
from gpu_studio.runs import batch_search
from gpu_studio.runs.batch_search import BatchSearchError, ProofAsking
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.launch import TRAINER_VARIABLE
from gpu_studio.runs.questions.ask import AskCancelledError
from gpu_studio.ui.lab.largest_search import EXPLAINED
from gpu_studio.ui.lab.study_dialog import StudyDialog
from gpu_studio.ui.window import study_control
from gpu_studio.ui.window.main_window import MainWindow

FOUND = LargestBatch(("CPU:0",), 96, 112, "it is predicted to need 2 GiB of the 1 GiB there are")
Searched = Callable[[ProofAsking], tuple[LargestBatch, ...]]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("gpu_studio.ui.lab.studies_section.LOOK_MS", 50)
    monkeypatch.setattr("gpu_studio.ui.lab.study_dialog.SETTLE_MS", 1)
    monkeypatch.setattr(study_control, "REAP_MS", 20)


@pytest.fixture
def asked(open_window, qtbot, tmp_path, monkeypatch) -> Callable[[Searched], StudyDialog]:
    """The dialog of a study of batches, whose search is this."""

    def dialog_with(searched: Searched) -> StudyDialog:
        monkeypatch.setattr(batch_search, "largest_batches", lambda *given: searched(given[-1]))
        save(PLAN, tmp_path / "digits.plan.toml")
        window: MainWindow = open_window(tmp_path / "digits.plan.toml")
        window.services.actions["new_study_batch"].trigger()
        (dialog,) = (each for each in window.findChildren(StudyDialog) if each.isVisible())
        qtbot.waitUntil(dialog.save_button.isEnabled)
        return dialog

    return dialog_with


def test_that_the_batches_go_up_to_the_largest_that_was_found(asked, qtbot, tmp_path):
    said, go_on = [], threading.Event()

    def search(asking: ProofAsking) -> tuple[LargestBatch, ...]:
        asking.say("CPU:0: steps with a batch of 96")
        go_on.wait(PATIENCE_S)
        return (FOUND,)

    dialog = asked(search)
    row = dialog.largest
    assert row is not None
    assert (row.button.text(), row.words.text()) == ("Search", EXPLAINED)
    dialog.editors[0].values.setText("1, 2, 3")
    row.button.click()
    assert row.button.text() == "Cancel"
    qtbot.waitUntil(lambda: "steps with a batch of 96…" in row.words.text())
    said.append(row.words.text())
    go_on.set()
    qtbot.waitUntil(lambda: row.button.text() == "Search")
    assert row.words.text() == in_words(FOUND)
    assert dialog.editors[0].values.text() == "16, 32, 64, 96"
    qtbot.waitUntil(dialog.save_button.isEnabled)
    dialog.save_button.click()
    qtbot.waitUntil((tmp_path / "digits-batch.study.toml").exists)
    assert load_study(tmp_path / "digits-batch.study.toml").largest == (FOUND,)


def test_that_a_search_is_cancelled_and_leaves_the_batches_as_they_were(asked, qtbot):
    def search(asking: ProofAsking) -> tuple[LargestBatch, ...]:
        assert asking.cancel is not None
        asking.cancel.wait(PATIENCE_S)
        raise AskCancelledError("cancelled")

    dialog = asked(search)
    dialog.largest.button.click()
    dialog.largest.button.click()
    qtbot.waitUntil(lambda: dialog.largest.button.text() == "Search")
    assert dialog.largest.words.text() == EXPLAINED
    assert dialog.editors[0].values.text() == "16, 32, 64, 128, 256, 512"
    dialog.largest.button.click()
    dialog.close()
    assert not dialog.largest.busy


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (BatchSearchError("No such loss."), "No such loss."),
        (LargestBatch(("GPU:0",), 0, 1, "it found no memory"), "not even a batch of 1 fits"),
    ],
)
def test_that_a_search_without_a_batch_says_why(asked, qtbot, found, words):
    def search(_asking: ProofAsking) -> tuple[LargestBatch, ...]:
        if isinstance(found, Exception):
            raise found
        return (found,)

    dialog = asked(search)
    dialog.largest.button.click()
    qtbot.waitUntil(lambda: words in dialog.largest.words.text())
    assert dialog.editors[0].values.text() == "16, 32, 64, 128, 256, 512"
    dialog.close()


@pytest.mark.processes
def test_that_a_study_is_stopped_after_the_run_under_way(
    open_window, qtbot, tmp_path, runs: Path, monkeypatch
):
    go_on = tmp_path / "go on"
    trainer = fake_trainer("--hold-at", "3", "--until", str(go_on))
    monkeypatch.setenv(TRAINER_VARIABLE, shlex.join(trainer))
    study = made_study(tmp_path, "batch", repeats=1)
    window: MainWindow = open_window(None)
    window.studies.show_study(study.path)
    actions = window.services.actions
    qtbot.waitUntil(lambda: actions["run_study"].isEnabled())
    assert "No study is being run" in actions["end_study"].toolTip()
    try:
        actions["run_study"].trigger()
        qtbot.waitUntil(lambda: window.studies.snapshot.live is not None)
        actions["end_study"].trigger()
        progress = window.studies.section.view.progress
        qtbot.waitUntil(lambda: "stops after this one" in progress.text())
        assert not actions["end_study"].isEnabled()
        go_on.touch()
        qtbot.waitUntil(lambda: not window.studies.processes)
    finally:
        go_on.touch()
        eventually(lambda: all(p.poll() is not None for p, _ in window.studies.processes))
        kill_trainers(runs)
    qtbot.waitUntil(lambda: window.studies.snapshot.done == 1)
    assert len(directories(runs)) == 1
