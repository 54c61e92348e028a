"""Helpers for tests of faults in a real window."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot
from real_runs import Start, eventually, has_trained

from gpu_studio.runs.launch import Launched
from gpu_studio.ui.train.live_run import LiveRun
from gpu_studio.ui.window.main_window import MainWindow

Open = Callable[..., MainWindow]


def shown(qtbot: QtBot, window: MainWindow, state: str) -> LiveRun:
    """What the window's Train page follows, once it is in this state."""
    live = window.train_page.live_run
    assert live is not None
    qtbot.waitUntil(lambda: live.state == state)
    return live


def taken(live: LiveRun) -> int:
    """How many of the run's events the window has taken in.

    That a run is lost it concludes by itself.
    """
    return live.history.revision - (live.state == "lost")


def said(window: MainWindow) -> str:
    """What stands over the plots."""
    outcome = window.train_page.outcome
    assert outcome.isVisible()
    return outcome.message.text()


def kill(launched: Launched) -> None:
    """Kill a trainer as the kernel would."""
    launched.process.kill()
    launched.process.wait()


@pytest.fixture
def runs(runs_dir: Path) -> Path:
    """The folder that the window looks into: the one in which `start` starts runs."""
    return runs_dir


@pytest.fixture
def held(start: Start) -> Launched:
    """A trainer that has trained three steps, with a checkpoint, and waits."""
    launched = start("--hold-at", "3", "--checkpoint-every", "2")
    eventually(has_trained(launched, 3))
    return launched


class Heartbeat:
    """The longest time, in seconds, in which the window was busy and heard nothing."""

    def __init__(self, window: MainWindow) -> None:
        self.longest, self._last = 0.0, time.perf_counter()
        timer = QTimer(window)
        timer.timeout.connect(self._beat)
        timer.start(5)

    def _beat(self) -> None:
        now = time.perf_counter()
        self.longest, self._last = max(self.longest, now - self._last), now
