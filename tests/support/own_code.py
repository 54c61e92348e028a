"""A hostile file of Python that a plan names, and what a person presses where he is asked about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from gpu_studio.plan import loads, save
from gpu_studio.ui.main_window import MainWindow
from gpu_studio.ui.widgets.asking.allow_dialog import AllowDialog

MARKER = "executed"
HOSTILE = f"""
import pathlib
pathlib.Path(__file__).with_name("{MARKER}").touch()

def build_model(outputs):
    pathlib.Path(__file__).with_name("{MARKER}").touch()

def load():
    pathlib.Path(__file__).with_name("{MARKER}").touch()
"""
PLAN = '[model]\npython = "netze für Bilder.py:build_model"\n[data]\nname = "digits"\n[training]\nepochs = 2\n'


def hostile_code() -> Path:
    """Write the file in a folder of the user's own, and beside it `own.plan.toml`, which names it."""
    folder = Path.home() / "Meine Modelle"
    folder.mkdir()
    path = folder / "netze für Bilder.py"
    path.write_text(HOSTILE)
    save(loads(PLAN), folder / "own.plan.toml")
    return path


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
