"""Windows and their parts for tests: real ones, with settings of their own and a machine that answers at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fake_plan_asker
import pytest
from made_machines import WITHOUT_CARDS, answering
from PySide6.QtCore import QPoint
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from real_runs import PATIENCE_S

from gpu_studio.own_processes import module_command
from gpu_studio.plan import Machine
from gpu_studio.ui.control.quitting import LEAVE
from gpu_studio.ui.control.run_ends import NO
from gpu_studio.ui.main_window import MainWindow
from gpu_studio.ui.models.devices.checkup import Checkup
from gpu_studio.ui.models.devices.inventory import Inventory
from gpu_studio.ui.models.plan.plan_facts import FactsReader
from gpu_studio.ui.settings import NOTIFY, QUIT, Settings
from gpu_studio.ui.theme.manager import ThemeManager

OpenWindow = Callable[..., MainWindow]
_MODELS = "gpu_studio.ui.models"
QUICK = {
    f"{_MODELS}.plan.plan_facts.PATIENCE_MS": 20,
    f"{_MODELS}.plan.plan_facts.LOOK_MS": 5,
    f"{_MODELS}.plan.times_reader.LOOK_MS": 5,
    f"{_MODELS}.train.checkpoint_jobs.LOOK_MS": 5,
    f"{_MODELS}.train.live_run.LIVE_MS": 20,
    f"{_MODELS}.train.live_run.LOOK_MS": 100,
    f"{_MODELS}.runs.live_watch.LOOK_MS": 50,
    "gpu_studio.ui.pages.train.gone_banner.LOOK_MS": 50,
}
"""How often is looked for what a test waits for: oftener than in the window, for hundreds of tests wait."""
AWAY = QPoint(0, 0)
"""Where the pointer is when a window opens: left where the test before had it, it could lie over a part of this one."""


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """Have the window look as often as `QUICK` says."""
    with pytest.MonkeyPatch.context() as patch:
        for name, milliseconds in QUICK.items():
            patch.setattr(name, milliseconds)
        yield


@pytest.fixture
def theme(qapp: QApplication) -> ThemeManager:
    """A theme that nobody wears."""
    return ThemeManager("light")


@pytest.fixture
def dressed(theme: ThemeManager, qapp: QApplication) -> Iterator[ThemeManager]:
    """The same theme, worn by the application for one test."""
    palette, sheet, font, style = qapp.palette(), qapp.styleSheet(), qapp.font(), qapp.style().objectName()
    theme.dress(qapp)
    yield theme
    qapp.setStyle(style)
    qapp.setStyleSheet(sheet)
    qapp.setPalette(palette)
    qapp.setFont(font)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings that are nobody's."""
    return Settings(tmp_path / "settings" / "window.ini")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder for runs, which is not there yet."""
    return tmp_path / "runs"


@pytest.fixture
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The command line of what answers questions about plans, without TensorFlow."""
    monkeypatch.setenv("FAKE_ASKER_STARTS", str(tmp_path / "questions"))
    return (sys.executable, fake_plan_asker.__file__)


@pytest.fixture(scope="session")
def glance(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The command line of what says again, at once, what the doctor said of this machine at a glance."""
    folder = tmp_path_factory.mktemp("doctor")
    command = [*module_command("gpu_studio.hardware.doctor"), "--json", "--runs-dir", str(folder / "runs")]
    asked = subprocess.run(command, env={**os.environ, "HOME": str(folder)}, capture_output=True, timeout=60)
    (folder / "glance.json").write_bytes(asked.stdout)
    return "cat", str(folder / "glance.json")


@pytest.fixture
def open_window(
    qtbot: QtBot,
    runs: Path,
    settings: Settings,
    theme: ThemeManager,
    facts: tuple[str, ...],
    glance: tuple[str, ...],
) -> Iterator[OpenWindow]:
    """Open the real window on a machine, and wait until it knows it. It is closed after the test, trainers killed."""
    windows: list[MainWindow] = []

    def opened(plan: Path | None = None, machine: Machine = WITHOUT_CARDS, **options: Any) -> MainWindow:
        inventory = Inventory(answering(machine))
        # Closing windows at the end of a test is no occasion for a question.
        settings.set(QUIT, LEAVE)
        # Nor is the end of a test's run one to tell the desktop of whoever runs the tests.
        settings.set(NOTIFY, NO)
        askers = {"inventory": inventory, "facts": FactsReader(facts), "checkup": Checkup(command=glance)}
        told = {"settings": settings, **askers, **options}
        QCursor.setPos(AWAY)
        window = MainWindow(runs, plan, theme, **told)
        windows.append(window)
        qtbot.addWidget(window)
        inventory.refresh()
        window.show()
        window.activateWindow()
        qtbot.waitUntil(lambda: window.inventory.machine is not None)
        return window

    yield opened
    for window in windows:
        for launched in window.runs.launched:
            launched.process.kill()
            launched.process.wait(PATIENCE_S)


@pytest.fixture
def window(open_window: OpenWindow, qtbot: QtBot) -> MainWindow:
    """The window with its starter plan."""
    made = open_window()
    qtbot.waitUntil(lambda: made.document.plan is not None)
    return made
