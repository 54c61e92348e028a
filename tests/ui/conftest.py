"""Fixtures for real windows and their parts.

They have settings of their own and a machine that answers at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fake_plan_asker
import pytest
from made_machines import WITHOUT_CARDS, answering
from patience import PATIENCE_S
from PySide6.QtCore import QPoint
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gpu_studio.plan import Machine
from gpu_studio.ui.kit.settings import NOTIFY, QUIT, Settings
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.machine.checkup import Checkup
from gpu_studio.ui.machine.live_machine import Inventory
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.window import main_window
from gpu_studio.ui.window.live_runs import NO
from gpu_studio.ui.window.main_window import MainWindow
from gpu_studio.ui.window.quitting import LEAVE

OpenWindow = Callable[..., MainWindow]
QUICK = {
    "gpu_studio.ui.plan.plan_facts.PATIENCE_MS": 20,
    "gpu_studio.ui.train.live_run.LIVE_MS": 20,
    "gpu_studio.ui.train.live_run.LOOK_MS": 100,
    "gpu_studio.ui.runs.live_watch.LOOK_MS": 50,
    "gpu_studio.ui.train.outcome_banner.LOOK_MS": 50,
}
"""How often is looked for what a test waits for.

Oftener than in the window, for hundreds of tests wait.
"""
AWAY = QPoint(0, 0)
"""Where the pointer is when a test begins.

Left where the test before had it, it could lie over a part of this one's window: a strip, for one,
waits until a pointer over what it would move has come to rest.
"""


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """Make the window poll at the intervals of `QUICK`, and each page once it is turned to.

    Most tests never turn to the pages that it makes ahead, and to make them takes as long as all
    else of a window. The windows of `tests/e2e` make them.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, milliseconds in QUICK.items():
            patch.setattr(name, milliseconds)
        patch.setattr(main_window, "MADE_AHEAD", ())
        yield


@pytest.fixture(autouse=True)
def pointer_away() -> None:
    """Put the pointer where it is over nothing, once there is one."""
    if QApplication.instance() is not None:
        QCursor.setPos(AWAY)


@pytest.fixture
def theme(qapp: QApplication) -> ThemeManager:
    """A theme that is not applied to anything."""
    return ThemeManager("light")


@pytest.fixture
def dressed(theme: ThemeManager, qapp: QApplication) -> Iterator[ThemeManager]:
    """The same theme, applied to the application for one test."""
    palette, sheet, font, style = (
        qapp.palette(),
        qapp.styleSheet(),
        qapp.font(),
        qapp.style().objectName(),
    )
    theme.dress(qapp)
    yield theme
    qapp.setStyle(style)
    qapp.setStyleSheet(sheet)
    qapp.setPalette(palette)
    qapp.setFont(font)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings for this test only."""
    return Settings(tmp_path / "settings" / "window.ini")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder for runs that does not exist yet."""
    return tmp_path / "runs"


@pytest.fixture
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The command line that answers questions about plans without TensorFlow."""
    monkeypatch.setenv("FAKE_ASKER_STARTS", str(tmp_path / "questions"))
    return fake_plan_asker.COMMAND


@pytest.fixture
def open_window(
    qtbot: QtBot,
    runs: Path,
    settings: Settings,
    theme: ThemeManager,
    facts: tuple[str, ...],
    glance: tuple[str, ...],
) -> Iterator[OpenWindow]:
    """Open the real window on a machine, and wait until it knows the machine.

    After the test the window is closed and its trainers are killed.
    """
    windows: list[MainWindow] = []

    def opened(
        plan: Path | None = None, machine: Machine = WITHOUT_CARDS, **options: Any
    ) -> MainWindow:
        inventory = Inventory(answering(machine))
        # Closing windows at the end of a test must not ask questions.
        settings.set(QUIT, LEAVE)
        # Nor must the end of a test's run notify the desktop of whoever runs the tests.
        settings.set(NOTIFY, NO)
        askers = {
            "inventory": inventory,
            "facts": FactsReader(facts),
            "checkup": Checkup(command=glance),
        }
        told = {"settings": settings, **askers, **options}
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
