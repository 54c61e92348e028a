from __future__ import annotations

import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import PATIENCE_S
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton

from gpu_studio.ui.kit.dialogs import ErrorDialog
from gpu_studio.ui.window.app import ErrorKeeper


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "window.log"


@pytest.fixture
def keeper(qapp, log: Path) -> Iterator[ErrorKeeper]:
    before = sys.excepthook, threading.excepthook
    made = ErrorKeeper(log)
    yield made
    made.close()
    assert (sys.excepthook, threading.excepthook) == before
    for dialog in dialogs():
        dialog.close()


def dialogs() -> list[ErrorDialog]:
    return [widget for widget in QApplication.topLevelWidgets() if isinstance(widget, ErrorDialog)]


def happen(text: str = "the paint is off") -> None:
    """An error that reaches the hook, as one in a slot does."""
    try:
        raise RuntimeError(text)
    except RuntimeError as error:
        sys.excepthook(type(error), error, error.__traceback__)


def button(dialog: ErrorDialog, text: str) -> QPushButton:
    return next(each for each in dialog.findChildren(QPushButton) if each.text() == text)


def test_that_an_error_is_shown_and_noted_for_its_owner_only(keeper, log: Path) -> None:
    happen()
    (dialog,) = dialogs()
    assert "RuntimeError: the paint is off" in log.read_text()
    assert "in happen" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700
    assert not dialog.isModal()


def test_that_nothing_is_written_where_nothing_happens(keeper, log: Path) -> None:
    assert not log.exists()


def test_that_the_traceback_is_one_click_away_and_can_be_copied(keeper, qtbot) -> None:
    happen()
    (dialog,) = dialogs()
    trace = dialog.findChild(QPlainTextEdit)
    assert trace is not None
    assert not trace.isVisible()
    qtbot.mouseClick(button(dialog, "Show traceback"), Qt.MouseButton.LeftButton)
    assert trace.isVisible()
    assert "in happen" in trace.toPlainText()
    qtbot.mouseClick(button(dialog, "Copy"), Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == trace.toPlainText()


def test_that_an_error_that_comes_again_and_again_is_shown_once(keeper) -> None:
    for _ in range(5):
        happen()
    assert len(dialogs()) == 1
    happen("another")
    assert len(dialogs()) == 2


def test_that_an_error_in_a_thread_is_shown_too(keeper, qtbot) -> None:
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join(PATIENCE_S)
    qtbot.waitUntil(lambda: len(dialogs()) == 1)


def test_that_a_log_that_cannot_be_written_does_not_hide_the_error(
    qapp, tmp_path: Path, capsys
) -> None:
    (tmp_path / "file").write_text("in the way")
    keeper = ErrorKeeper(tmp_path / "file" / "window.log")
    try:
        happen()
        assert len(dialogs()) == 1
    finally:
        keeper.close()
        for dialog in dialogs():
            dialog.close()
