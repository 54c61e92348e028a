"""A hostile Python file that a plan names, and the buttons a person presses when asked about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from real_runs import fake_trainer

from gpu_studio.plan import loads, save
from gpu_studio.ui.plan.code_dialogs import AllowDialog
from gpu_studio.ui.window.main_window import MainWindow

MARKER = "executed"
HOSTILE = f"""
import pathlib
pathlib.Path(__file__).with_name("{MARKER}").touch()

def build_model(outputs):
    pathlib.Path(__file__).with_name("{MARKER}").touch()

def load():
    pathlib.Path(__file__).with_name("{MARKER}").touch()
"""
PLAN = (
    '[model]\npython = "netze für Bilder.py:build_model"\n[data]\nname = '
    '"digits"\n[training]\nepochs = 2\n'
)


@pytest.fixture
def code() -> Path:
    """A hostile file in a folder of the user's own, and beside it a plan that names it."""
    folder = Path.home() / "Meine Modelle"
    folder.mkdir()
    path = folder / "netze für Bilder.py"
    path.write_text(HOSTILE)
    save(loads(PLAN), folder / "own.plan.toml")
    return path


@pytest.fixture
def window(open_window: Callable[..., MainWindow], code: Path) -> MainWindow:
    """A window on that plan."""
    opened = open_window(code.with_name("own.plan.toml"), trainer=fake_trainer())
    opened.readiness.look_again()
    return opened


@pytest.fixture
def questions(tmp_path: Path) -> Callable[[], int]:
    """How many questions were asked of a trainer."""
    file = tmp_path / "questions"
    return lambda: len(file.read_text().splitlines()) if file.exists() else 0


def untouched(code: Path) -> bool:
    """Whether nothing of the file has run."""
    return not code.with_name(MARKER).exists() and not code.with_name("__pycache__").exists()


def dialog_of(window: MainWindow) -> AllowDialog:
    """The dialog that asks."""
    return next(each for each in window.findChildren(AllowDialog) if each.isVisible())


def press(qtbot: Any, button: QWidget) -> None:
    """Press with the space bar."""
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Space)


def allow(qtbot: Any, window: MainWindow) -> None:
    """Answer that the file may run as it is."""
    press(qtbot, dialog_of(window).file)
