"""The window and a real training, with nothing between them but the run directory."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from fault_windows import taken
from PySide6.QtCore import Qt
from training_runs import resting, small_plan

from gpu_studio.contract import directory, events, lock
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.samples import Host, decode
from gpu_studio.plan import save
from gpu_studio.runs import catalogue
from gpu_studio.runs.launch import TRAINER_VARIABLE
from gpu_studio.runs.lineage import events_of
from gpu_studio.runs.state import is_live

pytestmark = pytest.mark.slow


@pytest.fixture
def endless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan that trains until it is stopped, with a checkpoint every epoch; its trainer rests."""
    monkeypatch.setenv(TRAINER_VARIABLE, shlex.join(resting()))
    path = tmp_path / "endless.plan.toml"
    save(small_plan("training.epochs=100000", "distribution.strategy=mirrored"), path)
    return path


def the_run(runs: Path) -> RunDirectory:
    (run,) = catalogue.directories(runs)
    return run


def told(run: RunDirectory, kind: type) -> list:
    return [event for event in events_of(run) if isinstance(event, kind)]


def recorded(run: RunDirectory) -> list:
    """The whole lines of the recording so far."""
    if not run.hardware_file.exists():
        return []
    *whole, _ = run.hardware_file.read_bytes().split(b"\n")
    return [decode(line) for line in whole]


def kill(run: RunDirectory, number: int = signal.SIGKILL) -> None:
    holder = lock.holder(run.lock_file)
    assert holder is not None
    os.kill(holder.pid, number)


@pytest.mark.whole("tests/e2e/test_story_by_pointer.py")
def test_that_the_starter_plan_trains_from_the_keyboard_and_is_watched_to_its_end(
    qtbot, open_window, runs
) -> None:
    window = open_window()
    qtbot.waitUntil(lambda: window.document.plan is not None and not window.readiness.why_not)
    qtbot.keyClick(window, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert window.page == "train"
    page = window.train_page
    qtbot.waitUntil(lambda: page.live_run.state == "finished")
    history = page.live_run.history
    accuracies = [epoch.metrics["val_accuracy"] for epoch in told(the_run(runs), events.Epoch)]
    assert max(accuracies) >= 0.95
    assert history.progress == 1.0
    (end,) = told(the_run(runs), events.Finished)
    assert end.metrics["test_accuracy"] > 0.9
    qtbot.waitUntil(lambda: any(isinstance(sample, Host) for sample in recorded(the_run(runs))))
    said = f"test accuracy {end.metrics['test_accuracy']:.4f}"
    qtbot.waitUntil(lambda: said in page.header.line.text)


def test_that_a_run_outlives_a_killed_window_and_a_new_window_shows_all_of_it(
    qtbot, open_window, runs, endless, x_environment, fault
) -> None:
    """The first window is a process on a real X server, and its Train is a real key press."""
    command = [sys.executable, "-m", "gpu_studio", "--runs-dir", str(runs), str(endless)]
    with subprocess.Popen(command, env=x_environment, stderr=subprocess.PIPE) as window_process:
        try:
            press_train(qtbot, window_process, x_environment, runs)
            run = the_run(runs)
            qtbot.waitUntil(lambda: bool(told(run, events.Epoch)))
        finally:
            window_process.kill()
    seen = len(told(run, events.Epoch))
    qtbot.waitUntil(lambda: len(told(run, events.Epoch)) > seen + 3)
    assert is_live(run)
    fault.is_about("window killed", "the run trains on; a new window shows all of it")
    with fault.noticed():
        window = open_window()
        assert window.page == "train"
        live = window.train_page.live_run
        assert live.run == run
        qtbot.waitUntil(lambda: live.state == "running")
    before = len(list(events_of(run)))
    directory.send(run, "stop")
    qtbot.waitUntil(lambda: live.state == "stopped")
    all_of_it = list(events_of(run))
    assert [event.seq for event in all_of_it] == list(range(len(all_of_it)))
    steps = [event for event in all_of_it if isinstance(event, events.Steps)]
    assert live.history.step == sum(len(event.losses) for event in steps)
    assert live.history.losses.total == live.history.step
    fault.kept(before, live.history.revision)


def press_train(qtbot, window_process, environment, runs: Path) -> None:
    """Ctrl+Return in the first window of the process, until a run is there."""

    def search() -> list[str]:
        asked = [
            "xdotool",
            "search",
            "--onlyvisible",
            "--pid",
            str(window_process.pid),
            "--name",
            "GPU Studio",
        ]
        return subprocess.run(asked, env=environment, capture_output=True, text=True).stdout.split()

    qtbot.waitUntil(lambda: bool(search()))

    def pressed() -> bool:
        press = ["xdotool", "windowfocus", "--sync", search()[-1], "key", "ctrl+Return"]
        subprocess.run(press, env=environment, capture_output=True)
        # A press that comes before the window listens is lost; one that comes after must not be
        # followed by another.
        with suppress(qtbot.TimeoutError):
            qtbot.waitUntil(lambda: bool(catalogue.directories(runs)), timeout=30_000)
        return bool(catalogue.directories(runs))

    qtbot.waitUntil(pressed)


@pytest.mark.whole("tests/e2e/test_faults_deaths.py")
def test_that_a_killed_trainer_is_shown_as_lost_and_can_be_resumed(
    qtbot, open_window, runs, endless, fault
) -> None:
    fault.is_about("trainer killed", "lost; goes on from its newest checkpoint at a click")
    window = open_window(endless)
    window.actions_["train"].trigger()
    live = window.train_page.live_run
    qtbot.waitUntil(lambda: len(live.history.checkpoints) > 0)
    run = the_run(runs)
    qtbot.waitUntil(lambda: _is_profiled(run))
    kill(run)
    with (
        fault.noticed(),
        qtbot.waitSignal(live.state_changed, check_params_cb=lambda state: state == "lost"),
    ):
        pass
    fault.kept(len(list(events_of(run))), taken(live))
    assert window.train_page.outcome.isVisible()
    qtbot.mouseClick(window.train_page.outcome.resume, Qt.MouseButton.LeftButton)
    resumed = window.train_page.live_run
    assert resumed.run != run
    qtbot.waitUntil(lambda: resumed.state == "running")
    qtbot.waitUntil(lambda: len(told(resumed.run, events.Steps)) > 0)
    (started,) = told(resumed.run, events.Started)
    assert started.resumed_from == run.id
    assert told(resumed.run, events.Steps)[0].first_step == started.from_step > 0
    qtbot.waitUntil(lambda: _is_profiled(resumed.run))
    window.actions_["stop_now"].trigger()
    qtbot.waitUntil(lambda: resumed.state == "stopped")


def _is_profiled(run: RunDirectory) -> bool:
    """Whether the few steps that are profiled at a run's start are behind it.

    Until then there is a temporary folder, which nobody removes if the trainer is killed.
    """
    return bool(told(run, events.Communication))


@pytest.mark.usefixtures("warm_trainer")
def test_that_the_window_survives_a_run_out_of_memory_and_says_what_to_try(
    qtbot, open_window, runs, tmp_path, monkeypatch, fault
) -> None:
    fault.is_about(
        "out of memory", "failed; says where, in which layer, what was held and what to change"
    )
    monkeypatch.setenv("TF_CPU_ALLOCATOR_USE_BFC", "true")
    monkeypatch.setenv("TF_CPU_BFC_MEM_LIMIT_IN_MB", "64")
    path = tmp_path / "large.plan.toml"
    save(small_plan("model.options={ hidden = [8192, 8192] }"), path)
    window = open_window(path)
    window.actions_["train"].trigger()
    page = window.train_page
    qtbot.waitUntil(lambda: page.live_run.state == "failed")
    said = page.outcome.accessibleName()
    assert "Out of memory on CPU:" in said
    assert "in the layer dense" in said
    assert "were in use of the computer's memory" in said
    assert "Choose a smaller model, or spread its layers" in said
    assert "training.batch_size" not in said
    fault.kept(len(list(events_of(the_run(runs)))), page.live_run.history.revision)
    assert window.isVisible()
    window.show_page("plan")
    assert window.page == "plan"


@pytest.mark.whole("tests/ui/window/test_main_window.py")
def test_that_pause_and_resume_from_the_menu_reach_the_trainer(
    qtbot, open_window, runs, endless
) -> None:
    window = open_window(endless)
    window.actions_["train"].trigger()
    live = window.train_page.live_run
    qtbot.waitUntil(lambda: live.state == "running" and live.history.step > 0)
    window.actions_["pause"].trigger()
    qtbot.waitUntil(lambda: live.state == "paused")
    window.actions_["pause"].trigger()
    qtbot.waitUntil(lambda: live.state == "running")
    window.actions_["stop"].trigger()
    qtbot.waitUntil(lambda: live.state == "stopped")
    assert told(the_run(runs), events.Finished)[0].reason == "stopped"
