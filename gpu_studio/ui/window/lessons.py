"""Lessons in the window: offered, chosen, begun, followed and left.

What shows a lesson is imported when one is shown: the window's start need not wait for it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QRect, Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QMainWindow, QWidget

from gpu_studio.hardware.source import simulated
from gpu_studio.plan import Plan, PlanError
from gpu_studio.ui.kit import GRID, Button, Dialog, Label, Paragraph, let_go_of_focus
from gpu_studio.ui.kit.settings import LESSON, LESSON_OFFER, LESSONS, Settings
from gpu_studio.ui.window.plan_files import PlanFiles
from gpu_studio.ui.window.services import Pages, Services

if TYPE_CHECKING:
    from gpu_studio.runs.lessons import Lesson, LessonRuns, LessonSight, LessonStep
    from gpu_studio.ui.window.lesson_panel import LessonPanel, Ring

LOOK_MS: Final = 400
"""So often runs and the page are looked at, while a step waits."""
_DIALOG_PX: Final = 560
_OFFER: Final = "This plan is ready for this machine: press Train. Or learn it in eight lessons."
_OFFER_TO_LOOK: Final = (
    "This plan is made for these simulated cards, on which nothing trains: see what would happen. "
    "Or learn it in eight lessons."
)
_OFFER_ALONE: Final = "Learn by doing: eight lessons, each with a plan of its own."


class LessonOffer(QFrame):
    """One line that offers the lessons. `taken` and `dismissed` are its buttons."""

    taken = Signal()
    dismissed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.setProperty("tone", "plain")
        self.words = Paragraph("")
        self.take = Button("Lessons…", small=True)
        self.dismiss = Button("Not now", "quiet", small=True)
        self.dismiss.setToolTip("Offer the lessons no more; they stay under Help")
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID + 4, GRID // 2, GRID, GRID // 2)
        row.addWidget(self.words, 1)
        row.addWidget(self.take)
        row.addWidget(self.dismiss)
        self.show_ready(True)
        self.take.clicked.connect(self.taken)
        self.dismiss.clicked.connect(self.dismissed)

    def show_ready(self, ready: bool) -> None:
        """Say that the plan can be trained, if it can."""
        text = _OFFER_TO_LOOK if simulated() else _OFFER if ready else _OFFER_ALONE
        self.words.setText(text)
        self.setAccessibleName(text)

    def go(self) -> None:
        """Go away."""
        let_go_of_focus(self)
        self.hide()


class LessonsDialog(Dialog):
    """All lessons, each with a button that begins it: `begun(number)`."""

    begun = Signal(int)

    def __init__(self, done: frozenset[int], parent: QWidget) -> None:
        from gpu_studio.runs.lessons import lessons

        super().__init__("Lessons", parent)
        about = "Each opens a plan of its own, points at what to do, and waits until it was done."
        self.column.addWidget(Paragraph(about))
        self.buttons: dict[int, Button] = {}
        grid = QGridLayout()
        grid.setHorizontalSpacing(2 * GRID)
        grid.setVerticalSpacing(GRID)
        grid.setColumnStretch(1, 1)
        for row, lesson in enumerate(lessons().values()):
            words = QWidget()
            column = QGridLayout(words)
            column.setContentsMargins(0, 0, 0, 0)
            column.setVerticalSpacing(0)
            column.addWidget(Paragraph(lesson.title, "strong"), 0, 0)
            column.addWidget(Paragraph(lesson.goal, "muted"), 1, 0)
            button = Button("Again" if lesson.number in done else "Begin", small=True)
            button.setAccessibleName(f"{button.text()} lesson {lesson.number}, {lesson.title}")
            button.clicked.connect(lambda _=False, number=lesson.number: self._begin(number))
            mark = "✔" if lesson.number in done else str(lesson.number)
            grid.addWidget(Label(mark, "strong"), row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(words, row, 1)
            grid.addWidget(button, row, 2)
            self.buttons[lesson.number] = button
        self.column.addLayout(grid)
        self.add_buttons()
        self.fit(_DIALOG_PX)

    def _begin(self, number: int) -> None:
        self.close()
        self.begun.emit(number)


class Lessons(QObject):
    """The lesson that is shown, if one is. `guide_wanted(place)` asks for a place of the guide."""

    guide_wanted = Signal(str)

    def __init__(self, services: Services, pages: Pages, files: PlanFiles) -> None:
        super().__init__(services.window)
        self._services, self._pages, self._files = services, pages, files
        self._settings: Settings = services.settings
        self.panel: LessonPanel | None = None
        self.ring: Ring | None = None
        self.lesson: Lesson | None = None
        self.index = 0
        self.done = False
        self._since = 0.0
        self._runs: LessonRuns | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self.look)
        self.offer = LessonOffer()
        for part in (services.document, services.readiness, services.facts, services.resuming):
            part.changed.connect(self._show_offer)
        self._show_offer()
        self.offer.taken.connect(self.choose)
        self.offer.dismissed.connect(self._offer_no_more)

    @property
    def step(self) -> LessonStep | None:
        """The step that is shown."""
        return self.lesson.steps[self.index] if self.lesson is not None else None

    def choose(self) -> LessonsDialog:
        """Ask which lesson."""
        dialog = LessonsDialog(frozenset(self._finished()), self._services.window)
        dialog.begun.connect(self.begin)
        dialog.show()
        return dialog

    def begin(self, number: int) -> None:
        """Begin a lesson with its plan, after having asked about unsaved changes of the open one.

        Raises KeyError if there is none of the number.
        """
        from gpu_studio.runs.lessons import lessons

        lesson = lessons()[number]

        def begun() -> None:
            self._pages.turn_to("plan")
            self._show(lesson, 0, time.time())

        self._offer_no_more()
        self._files.take(lesson.plan(), begun)

    def come_back(self) -> None:
        """Show the lesson that was open at the end of the last time, where it was."""
        from gpu_studio.runs.lessons import lessons

        number, step, since = _kept(self._settings.get(LESSON))
        machine, document = self._services.inventory.machine, self._services.document
        lesson = lessons().get(number)
        if self.lesson is not None or lesson is None or not 0 <= step < len(lesson.steps):
            return
        if document.path is None and not document.dirty and machine is not None:
            # A plan without a file is not kept; what the steps before made of it is known.
            self._files.take(lesson.plan_at(step, machine))
        self._show(lesson, step, since)

    def leave(self) -> None:
        """Close the lesson. The plan stays."""
        self._timer.stop()
        self.lesson = self._runs = None
        self._settings.set(LESSON, "")
        if self.panel is not None and self.ring is not None:
            self.ring.point(None)
            self.panel.leave()

    def close(self) -> None:
        """Look no more: the window goes. The lesson comes back."""
        self._timer.stop()

    def go(self, by: int) -> None:
        """Show the next step, or the one before; after the last one the lesson is finished."""
        if self.lesson is None:
            return
        if self.index + by >= len(self.lesson.steps):
            self._finish(self.lesson)
        else:
            self._show(self.lesson, max(0, self.index + by), self._since)

    def help(self) -> None:
        """Do what the step asks for next: change the plan, or what follows that."""
        step, lesson = self.step, self.lesson
        if step is None or lesson is None:
            return
        try:
            changed = self._changed(lesson, step)
        except PlanError as error:
            self._services.notice.say(str(error), "bad")
            return
        if changed is not None:
            self._pages.turn_to("plan")
            self._services.document.replace(changed, f"lesson {lesson.number}: {step.title}")
        elif step.action:
            action = self._services.actions[step.action]
            if action.isEnabled():
                action.trigger()
            else:  # its tip says why not
                self._services.notice.say(action.toolTip(), "warning")
        self.look()

    def _changed(self, lesson: Lesson, step: LessonStep) -> Plan | None:
        """The plan as the step has it, None if it is so already. Raises PlanError if it cannot."""
        plan, machine = self._services.document.plan, self._services.inventory.machine
        if not step.edits or plan is None or machine is None:
            return None
        changed = step.edited(plan, machine, str(lesson.code_file or ""))
        return None if changed == plan else changed

    def look(self) -> None:
        """See whether the step was done, and where what it points at is now."""
        lesson, step = self.lesson, self.step
        if lesson is None or step is None or self.panel is None or self.ring is None:
            return
        from gpu_studio.ui.window.lesson_panel import find_place

        seen = self._seen()
        missing = step.until.missing(seen) if step.until and not self.done else []
        self.done = self.done or not missing
        trains = step.action == "train" and any(run.goes_on for run in seen.runs)
        self.panel.show_step(lesson, self.index, missing, done=self.done, trains=trains)
        nothing_to_do = trains or (self.done and step.until is not None)
        self.ring.point(None if nothing_to_do else find_place(self._services.window, step.at))
        if isinstance(window := self._services.window, QMainWindow):
            self.panel.place(window, self.ring.geometry() if self.ring.isVisible() else QRect())

    def _show(self, lesson: Lesson, index: int, since: float) -> None:
        from gpu_studio.runs.lessons import LessonRuns

        if self.lesson is not lesson or since != self._since:
            self._runs = LessonRuns(self._services.runs_dir, lesson.name, since)
        self.lesson, self.index, self._since, self.done = lesson, index, since, False
        self._settings.set(LESSON, f"{lesson.number}:{index}:{int(since)}")
        self._make()
        self._timer.start()
        self.look()

    def _finish(self, lesson: Lesson) -> None:
        self.leave()
        kept = {str(number) for number in self._finished()} | {str(lesson.number)}
        self._settings.set(LESSONS, tuple(sorted(kept)))
        text = (
            f"Lesson {lesson.number} is done. Its plan stays open; Help ▸ Lessons has the others."
        )
        self._services.notice.say(text)

    def _finished(self) -> list[int]:
        return [int(each) for each in self._settings.now(LESSONS) if each.isdecimal()]

    def _seen(self) -> LessonSight:
        from gpu_studio.runs.lessons import LessonSight

        services, pages = self._services, self._pages
        machine = services.inventory.machine
        return LessonSight(
            plan=services.document.plan,
            cards=len(machine.cards) if machine is not None else 0,
            runs=self._runs.look() if self._runs is not None else (),
            page=pages.current,
            part=pages.plan.part if pages.current == "plan" else "",
            chosen=len(pages.runs.chosen) if pages.current == "runs" else 0,
            resuming=services.resuming.target is not None,
            allowed=not services.readiness.not_allowed,
        )

    def _make(self) -> None:
        if self.panel is not None:
            return
        from gpu_studio.ui.window.lesson_panel import LessonPanel, Ring

        services = self._services
        self.panel = LessonPanel(services.theme, services.window)
        self.ring = Ring(services.theme, services.window)
        self.panel.back.connect(lambda: self.go(-1))
        self.panel.on.connect(lambda: self.go(1))
        self.panel.helped.connect(self.help)
        self.panel.left.connect(self.leave)
        self.panel.wanted.connect(self.guide_wanted)
        services.document.changed.connect(self.look)
        self._pages.turned.connect(self.look)

    def _show_offer(self) -> None:
        # Of a plan of one's own it would not be true that it is made for this machine, nor of a
        # run's that goes on.
        document, facts = self._services.document, self._services.facts
        resumes = self._services.resuming.target is not None
        starter = document.plan is not None and document.path is None and not resumes
        # An error of the facts is that TensorFlow cannot be asked, and so cannot train.
        self.offer.show_ready(not (self._services.readiness.why_not or facts.error))
        offered = self._settings.get(LESSON_OFFER) == LESSON_OFFER.default
        self.offer.setVisible(offered and starter)

    def _offer_no_more(self) -> None:
        self._settings.set(LESSON_OFFER, "no")
        self.offer.go()


def _kept(text: str) -> tuple[int, int, float]:
    """The number of a lesson, its step, and when it was begun, as they are remembered."""
    parts = text.split(":")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        return 0, 0, 0.0
    return int(parts[0]), int(parts[1]), float(parts[2])
