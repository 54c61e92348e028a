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
from gpu_studio.ui.kit.dialogs import Question
from gpu_studio.ui.plan.code_dialogs import AllowDialog
from gpu_studio.ui.runs.run_table import RunTable
from gpu_studio.ui.window.main_window import MainWindow

CONTROL = Qt.KeyboardModifier.ControlModifier
PATIENCE_MS = 30_000
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
        for question in self.window.findChildren(Question):  # the plan of the lesson before
            self.press(question.buttons["Don’t save"])
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
            self.qtbot.waitUntil(
                lambda: (
                    self.lessons.done
                    or self.lessons.ring.around not in tried
                    or panel.help_button.isVisible()
                ),
                timeout=PATIENCE_MS,
            )
            if self.lessons.done:
                break
            self.act(tried)
        self.wait_until_done()
        assert panel.standing.text() == "✔ Done"

    def act(self, tried: list[object]) -> None:
        ring, panel = self.lessons.ring, self.lessons.panel
        around = ring.around
        if around is not None and around not in tried:
            tried.append(around)
            self.ringed.append(around.accessibleName() or type(around).__name__)
            self.qtbot.waitUntil(ring.isVisible, timeout=PATIENCE_MS)
            if isinstance(around, QAbstractButton) and around.isEnabled():
                self.press(around)
                self.settle(around)
                return
            if isinstance(around, QTabBar):
                self.qtbot.mouseClick(around, Qt.MouseButton.LeftButton, pos=ring.within.center())
                self.lessons.look()
                return
        if self.lessons.step.until.chosen and isinstance(around, RunTable):
            self.choose(around)
        elif panel.help_button.isVisible():
            self.press(panel.help_button)
            self.settle(None)

    def choose(self, table: RunTable) -> None:
        """Click the two newest runs, the second one with Ctrl."""
        self.qtbot.waitUntil(lambda: table.model().rowCount() >= 2, timeout=PATIENCE_MS)
        for row, key in enumerate((Qt.KeyboardModifier.NoModifier, CONTROL)):
            place = table.visualRect(table.model().index(row, 1)).center()
            self.qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, key, place)
        self.lessons.look()

    def settle(self, pressed: object) -> None:
        """Allow code that is asked about, and wait for the run that was asked for."""
        for dialog in self.window.findChildren(AllowDialog):
            self.press(dialog.file)
        self.lessons.look()
        step = self.lessons.step
        if step.until.runs and getattr(pressed, "text", str)() in ("Train", "Stop", "Resume", ""):
            self.wait_until_done()

    def wait_until_done(self) -> None:
        """Wait, and say which step never was done."""
        try:
            self.qtbot.waitUntil(lambda: self.lessons.done, timeout=PATIENCE_MS)
        except self.qtbot.TimeoutError:
            panel, last = self.lessons.panel, self.ringed[-3:]
            pytest.fail(f"{panel.accessibleName()}: {panel.standing.text()}; ringed {last}")

    def press(self, button: QAbstractButton) -> None:
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


@pytest.fixture
def reader(qtbot, open_window: Callable[..., MainWindow]) -> Reader:
    return Reader(qtbot, open_window())


def trained(runs: Path) -> list[tuple[str, str]]:
    """How the runs ended, and with which strategy, the oldest first."""
    found = [summarise(run) for run in reversed(directories(runs))]
    return [(one.state, one.directory.load_plan().distribution.strategy) for one in found]


def test_that_each_lesson_is_read_to_its_end(reader, runs):
    for number in (2, 3, 4, 6, 7, 8):
        before = len(directories(runs))
        reader.read(number)
        print(number, trained(runs)[before:], reader.ringed)
