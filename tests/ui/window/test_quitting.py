"""Closing the window over live runs: what is asked, and what each answer does."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from made_runs import Script, make_run
from patience import PATIENCE_S
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget
from real_runs import fake_trainer, trainer_environment

from gpu_studio.contract import lock
from gpu_studio.contract.directory import checkpoints
from gpu_studio.runs import catalogue
from gpu_studio.runs.state import state_of
from gpu_studio.ui.kit.settings import QUIT
from gpu_studio.ui.window import quit_dialogs
from gpu_studio.ui.window.main_window import MainWindow
from gpu_studio.ui.window.quit_dialogs import QuitQuestion, StoppingDialog
from gpu_studio.ui.window.quitting import UNASKED


@pytest.fixture
def asking(open_window, qtbot):
    """A window that asks, with one live run."""
    window = open_window(trainer=fake_trainer("--hold-at", "3"))
    window.quitting.set_asks(True)
    window.actions_["train"].trigger()
    qtbot.waitUntil(lambda: window.shown_run.state == "running")
    yield window
    window.settings.set(QUIT, "leave")
    window.close()


def question(window: MainWindow) -> QuitQuestion:
    (found,) = (each for each in window.findChildren(QuitQuestion) if each.isVisible())
    return found


@pytest.mark.parametrize("ends", [False, True])
def test_that_the_question_says_what_ends_with_the_session(monkeypatch, qtbot, ends) -> None:
    monkeypatch.setattr(quit_dialogs, "ends_at_logout", lambda: ends)
    parent = QWidget()
    qtbot.addWidget(parent)
    asked = QuitQuestion([], 0, {"Leave running": parent.close}, parent)
    assert ("loginctl enable-linger" in asked.accessibleDescription()) == ends


def test_that_it_asks_once_and_return_leaves_the_run_running(asking, runs, qtbot) -> None:
    assert not asking.close()
    assert not asking.close()
    asked = question(asking)
    assert list(asked.buttons) == ["Leave running", "Stop", "Cancel"]
    assert (
        "“#1 digits on four logical CPUs” trains without this window too"
        in asked.accessibleDescription()
    )
    qtbot.keyClick(asked, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not asking.isVisible())
    (run,) = catalogue.directories(runs)
    assert lock.held(run.lock_file)
    assert asking.settings.get(QUIT) == "ask"


def test_that_escape_keeps_the_window_open_and_it_asks_again(asking, qtbot) -> None:
    asking.close()
    qtbot.keyClick(question(asking), Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: asking.findChildren(QuitQuestion) == [])
    assert asking.isVisible()
    asking.actions_["quit"].trigger()
    qtbot.mouseClick(question(asking).buttons["Cancel"], Qt.MouseButton.LeftButton)
    assert asking.isVisible()
    assert asking.shown_run.state == "running"


def test_that_stop_shows_how_it_goes_and_closes_when_the_run_is_gone(asking, runs, qtbot) -> None:
    asking.close()
    qtbot.mouseClick(question(asking).buttons["Stop"], Qt.MouseButton.LeftButton)
    (stopping,) = asking.findChildren(StoppingDialog)
    (run,) = catalogue.directories(runs)
    assert "checkpoint" in stopping.lines[run].text()
    qtbot.waitUntil(lambda: not asking.isVisible())
    assert state_of(run) == "stopped"
    assert not lock.held(run.lock_file)
    assert len(checkpoints(run)) == 1


def test_that_a_run_that_does_not_stop_can_be_left_after_all(open_window, qtbot, runs) -> None:
    window = open_window(trainer=fake_trainer("--hold-at", "3", "--deaf"))
    window.quitting.set_asks(True)
    window.actions_["train"].trigger()
    qtbot.waitUntil(lambda: window.shown_run.state == "running")
    window.close()
    qtbot.mouseClick(question(window).buttons["Stop"], Qt.MouseButton.LeftButton)
    (stopping,) = window.findChildren(StoppingDialog)
    stopping.reject()
    assert window.isVisible()
    window.close()
    qtbot.mouseClick(question(window).buttons["Stop"], Qt.MouseButton.LeftButton)
    (stopping,) = (each for each in window.findChildren(StoppingDialog) if each.isVisible())
    qtbot.mouseClick(stopping.leave, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not window.isVisible())
    assert lock.held(catalogue.directories(runs)[0].lock_file)


def test_that_do_not_ask_again_is_remembered_and_taken_back_in_the_menu(
    asking, runs, qtbot, open_window
) -> None:
    asking.close()
    asked = question(asking)
    qtbot.mouseClick(asked.never, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(asked.buttons["Leave running"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not asking.isVisible())
    assert asking.settings.get(QUIT) == "leave"
    again = open_window()
    assert not again.actions_["ask_quit"].isChecked()
    again.actions_["ask_quit"].trigger()
    assert again.actions_["ask_quit"].isChecked()
    assert not again.close()
    question(again).reject()
    again.actions_["ask_quit"].trigger()
    assert again.close()


def test_that_nothing_is_asked_where_nothing_lives(open_window, runs) -> None:
    make_run(runs, Script(epochs=2, trained=1.0, ending="completed"))
    window = open_window()
    window.quitting.set_asks(True)
    assert window.close()


def test_that_a_run_started_elsewhere_is_asked_about_too(open_window, runs, qtbot) -> None:
    window = open_window()
    window.quitting.set_asks(True)
    held = [
        lock.take(make_run(runs, Script(name=name, epochs=2, trained=0.5)).lock_file)
        for name in "abcde"
    ]
    assert not window.close()
    words = question(window).accessibleDescription()
    assert question(window).accessibleName() == "5 runs are still training"
    assert "and 2 more train without" in words
    question(window).reject()
    for each in held:
        each.release()
    assert window.close()


def test_that_the_end_of_the_session_asks_nothing(asking, qapp: QApplication) -> None:
    qapp.setProperty(UNASKED, True)
    try:
        assert asking.close()
    finally:
        qapp.setProperty(UNASKED, None)


PROGRAM = """
import sys
from gpu_studio.ui.window import app
from gpu_studio.ui.window.main_window import MainWindow
class Window(MainWindow):
    def showEvent(self, event):
        super().showEvent(event)
        print("shown", flush=True)
app.MainWindow = Window
sys.exit(app.run(__import__("pathlib").Path(sys.argv[1]), None))
"""


@pytest.mark.slow
def test_that_sigterm_closes_a_window_over_a_live_run_at_once(runs: Path, tmp_path: Path) -> None:
    run = make_run(runs, Script(epochs=2, trained=0.5))
    held = lock.take(run.lock_file)
    environment = trainer_environment({"GPU_STUDIO_SETTINGS": str(tmp_path / "window.ini")})
    command = [sys.executable, "-c", PROGRAM, str(runs)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "shown\n", shlex.join(command)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    held.release()
