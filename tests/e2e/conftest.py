from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpu_studio.runs import catalogue, lock
from gpu_studio.ui.main_window import MainWindow
from gpu_studio.ui.settings import Settings
from gpu_studio.ui.theme.manager import ThemeManager


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Path]:
    """A folder for runs. Trainers that still live in it after the test are killed: they are nobody's children."""
    folder = tmp_path / "runs"
    yield folder
    for run in catalogue.directories(folder):
        holder = lock.holder(run.lock_file)
        if holder is not None:
            os.kill(holder.pid, signal.SIGKILL)


@pytest.fixture
def open_window(qtbot, runs: Path, tmp_path: Path) -> Callable[..., MainWindow]:
    """Open the real window; it is closed after the test."""

    def opened(plan: Path | None = None) -> MainWindow:
        window = MainWindow(runs, plan, ThemeManager("dark"), settings=Settings(tmp_path / "settings.ini"))
        window.inventory.refresh()
        qtbot.addWidget(window)
        window.show()
        qtbot.waitUntil(lambda: window.inventory.machine is not None, timeout=20_000)
        return window

    return opened
