"""Lessons to their end in the real window, by what their ring points at and their buttons.

Those that are missing here are done by pointer and keys in `test_lessons_by_pointer.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import warm_python
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QTabBar, QToolButton

from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.lessons import lessons
from gpu_studio.runs.questions.ask import ASKER
from gpu_studio.runs.reading.summary import Summary, summarise
from gpu_studio.ui.kit.dialogs import Question
from gpu_studio.ui.plan.code_dialogs import AllowDialog
from gpu_studio.ui.runs.run_table import RunTable
from gpu_studio.ui.window.main_window import MainWindow

CONTROL = Qt.KeyboardModifier.ControlModifier
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_trainer")]


class Reader:
    """Reads a lesson: presses what is ringed if that is a button or a tab, else lets it be done."""

    def __init__(self, qtbot, window: MainWindow) -> None:
        self.qtbot, self.window, self.lessons = qtbot, window, window.lessons
        self.ringed: list[str] = []

    def read(self, number: int) -> None:
        """Begin a lesson as one does, and go through it."""
        self.qtbot.waitUntil(lambda: self.window.document.plan is not None)
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
                    or self.lessons.ring.around not in (None, *tried)
                    or panel.help_button.isVisible()
                ),
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
            self.qtbot.waitUntil(ring.isVisible)
            if isinstance(around, QAbstractButton):
                self.qtbot.waitUntil(around.isEnabled)
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
            if action := self.lessons.step.action:
                wanted = self.window.actions_[action]
                self.qtbot.waitUntil(wanted.isEnabled)
            self.press(panel.help_button)
            self.settle(None)

    def choose(self, table: RunTable) -> None:
        """Click the two newest runs, the second one with Ctrl."""
        self.qtbot.waitUntil(lambda: table.model().rowCount() >= 2)
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
        helped = bool(step.action) and not step.edits
        begun = helped if pressed is None else not isinstance(pressed, QToolButton)
        if step.until.runs and begun:
            self.wait_until_done()

    def wait_until_done(self) -> None:
        """Wait, and say which step never was done."""
        try:
            self.qtbot.waitUntil(lambda: self.lessons.done)
        except self.qtbot.TimeoutError:
            panel, last = self.lessons.panel, self.ringed[-3:]
            pytest.fail(
                f"{panel.accessibleName()}: {panel.standing.text()}; ringed {last}; "
                f"runs {[run.state_words for run in self.all_runs()]}; "
                f"said {self.window.notice.text}"
            )

    def all_runs(self) -> list[Summary]:
        """The runs so far, the newest first."""
        return [summarise(run) for run in directories(self.window.services.runs_dir)]

    def press(self, button: QAbstractButton) -> None:
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


@pytest.fixture
def reader(qtbot, open_window: Callable[..., MainWindow]) -> Reader:
    return Reader(qtbot, open_window(asker=warm_python.command(ASKER)))


@pytest.mark.whole("tests/ui/window/test_lessons.py", "tests/ui/window/test_named_on_screen.py")
@pytest.mark.parametrize("number", [2, 3, 6, 7, 8])
def test_that_a_lesson_is_read_to_its_end(reader, number):
    reader.read(number)
    assert all(run.state in ("finished", "stopped") for run in reader.all_runs())


@pytest.mark.whole("tests/ui/window/test_lessons.py", "tests/trainer/test_failing.py")
def test_that_memory_runs_out_on_purpose_and_the_way_out_is_found(
    qtbot, open_window, fake_cards, runs
):
    fake_cards(1, 4096)
    reader = Reader(qtbot, open_window(asker=warm_python.command(ASKER)))
    reader.read(5)
    ends = [(one.state, one.reason) for one in map(summarise, reversed(directories(runs)))]
    assert [state for state, _ in ends] == ["finished", "failed", "finished"]
    assert ends[1][1].startswith("Out of memory on GPU:0")
