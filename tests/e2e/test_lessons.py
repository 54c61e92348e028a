"""Every lesson to its end in the real window, by what its ring points at and its buttons."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QTabBar

from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.lessons import lessons
from gpu_studio.runs.reading.summary import summarise
from gpu_studio.ui.plan.code_dialogs import AllowDialog
from gpu_studio.ui.window.main_window import MainWindow

PATIENCE_MS = 60_000
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.usefixtures("warm_trainer")]


class Reader:
    """Reads a lesson: presses what is ringed if that is a button or a tab, else lets it be done."""

    def __init__(self, qtbot, window: MainWindow) -> None:
        self.qtbot, self.window, self.lessons = qtbot, window, window.lessons
        self.ringed: list[str] = []

    def read(self, number: int) -> None:
        """Begin a lesson as one does, and go through it."""
        self.qtbot.waitUntil(lambda: self.window.document.plan is not None, timeout=PATIENCE_MS)
        dialog = self.lessons.choose()
        self.press(dialog.buttons[number])
        self.qtbot.waitUntil(lambda: self.lessons.lesson is not None)
        for index in range(len(lessons()[number].steps)):
            assert self.lessons.index == index
            self.do_step()
            self.press(self.lessons.panel.next_button)
        assert self.lessons.lesson is None
        assert not self.lessons.panel.isVisible()

    def do_step(self) -> None:
        """Do what the step asks for, which it sees by itself."""
        step, panel = self.lessons.step, self.lessons.panel
        assert panel.head.text() == step.title
        if step.until is None:
            assert panel.next_button.text() in ("Next", "Finish")
            return
        tried: list[object] = []
        for _ in range(6):
            if self.lessons.done:
                break
            self.act(tried)
        self.qtbot.waitUntil(lambda: self.lessons.done, timeout=PATIENCE_MS)
        assert panel.standing.text() == "✔ Done"

    def act(self, tried: list[object]) -> None:
        ring, panel = self.lessons.ring, self.lessons.panel
        around = ring.around
        if around is not None and around not in tried:
            tried.append(around)
            self.ringed.append(around.accessibleName() or type(around).__name__)
            assert ring.isVisible()
            if isinstance(around, QAbstractButton) and around.isEnabled():
                self.press(around)
                self.settle(around)
                return
            if isinstance(around, QTabBar):
                self.qtbot.mouseClick(
                    around, Qt.MouseButton.LeftButton, pos=ring.within.center()
                )
                self.lessons.look()
                return
        if panel.help_button.isVisible():
            self.press(panel.help_button)
            self.settle(None)

    def settle(self, pressed: object) -> None:
        """Allow code that is asked about, and wait for the run that was asked for."""
        for dialog in self.window.findChildren(AllowDialog):
            self.press(dialog.allow)
        self.lessons.look()
        step = self.lessons.step
        if step.until.runs and getattr(pressed, "text", str)() in ("Train", "Stop", "Resume", ""):
            self.qtbot.waitUntil(lambda: self.lessons.done, timeout=PATIENCE_MS)

    def press(self, button: QAbstractButton) -> None:
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


@pytest.fixture
def reader(qtbot, open_window: Callable[..., MainWindow]) -> Reader:
    return Reader(qtbot, open_window())


def trained(runs: Path) -> list[tuple[str, str]]:
    """How the runs ended, and with which strategy, the oldest first."""
    found = [summarise(run) for run in reversed(directories(runs))]
    return [(one.state, one.directory.load_plan().distribution.strategy) for one in found]


def test_that_the_first_lesson_carves_and_trains_on_four(reader, runs):
    reader.read(1)
    assert trained(runs) == [("finished", "mirrored")]
    assert {"strategy Mirrored", "Train"} <= set(reader.ringed)


def test_that_the_second_trains_with_both_meanings_of_the_batch(reader, runs):
    reader.read(2)
    assert trained(runs) == [("finished", "mirrored")] * 2
