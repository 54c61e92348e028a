"""What the user should see to before training, and the list that shows it.

Obstacles prevent training; warnings say what will go differently than expected. Each has a
button for its remedy if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from gpu_studio.hardware.links import link_cautions
from gpu_studio.hardware.topology import Topology
from gpu_studio.placement.known_problems import MisplacedLayers, Refusal
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan import Caution, Problem, Remedy
from gpu_studio.plan.cautions import cautions
from gpu_studio.plan.remedies import mends_of
from gpu_studio.plan.values import Unnamed
from gpu_studio.runs.sources import (
    ConsentProblem,
    code_of,
    fits_left,
    trained_on_import,
    trains_before,
)
from gpu_studio.ui.kit import (
    GRID,
    GUIDE_PLACE,
    ActionButton,
    Button,
    Elided,
    Paragraph,
    ThemeManager,
    holds_focus,
    pixmap,
    sentence,
)
from gpu_studio.ui.plan.plan_facts import TRAIN_AND_LOOK
from gpu_studio.ui.plan.plan_view import PlanView

MOST = 8
"""So many problems are shown; those that follow from them go with them."""


@dataclass(frozen=True, slots=True)
class PlanConcern:
    """One of them. `key` identifies it across plans, `field` is the plan's field if there is one.

    An obstacle may be a Python file, `code`, that its user has not allowed. What was `refused` can
    be asked about again once it was fixed elsewhere; `details` is the traceback that came with it,
    `source` the user's file that it came from. What is `awaited` is no mistake: it only has to be
    named still.
    """

    key: str
    text: str
    why: str = ""
    field: str = ""
    mend: Remedy | None = None
    code: Path | None = None
    refused: bool = False
    details: str = ""
    source: Path | None = None
    awaited: bool = False
    others: tuple[Remedy, ...] = ()
    """Further remedies, besides the `mend`."""
    trains: bool = False
    """What was refused can be looked at if the plan's script trains before."""
    waits: bool = False
    """It ends by itself once others have ended, and can be waited for in the queue."""

    @property
    def action(self) -> str:
        """What can be done about it, as a button says it; empty where that is not known."""
        if self.mend is not None:
            return self.mend.label
        if self.code is not None:
            return "Allow…"
        if self.trains:
            return TRAIN_AND_LOOK
        return "Try again" if self.refused else ""

    def by_other(self, place: int) -> PlanConcern:
        """The same concern, with one of the `others` as its remedy."""
        return replace(self, mend=self.others[place], others=())

    @property
    def said(self) -> str:
        """The whole text in one line."""
        return " ".join(each for each in (self.field, self.text, self.why) if each)


class Obstacles:
    """The problems of the plan that prevent training, each with its remedies.

    Remedies are searched once: each is tried on the plan, and facts come and go.
    """

    def __init__(self) -> None:
        self._seen: PlanView | None = None
        self._problems: tuple[PlanConcern, ...] = ()

    def of(self, view: PlanView) -> tuple[PlanConcern, ...]:
        """The obstacles of this plan."""
        if self._seen is None or _looked_at(self._seen) != _looked_at(view):
            self._seen, self._problems = view, tuple(_problems(view))
        return self._problems


def _looked_at(view: PlanView) -> tuple[Any, ...]:
    return view.problems, view.plan, view.machine


def warnings(
    view: PlanView, facts: PlanFacts | None, topology: Topology | None
) -> tuple[PlanConcern, ...]:
    """Return the warnings about a plan that can run; none for a plan that cannot."""
    if view.problems:
        return ()
    plan, machine = view.plan, view.machine
    found = (
        *trained_on_import(view.absolute),
        *_going_on(view, facts),
        *_known(view, facts),
        *link_cautions(plan, machine, topology),
        *cautions(plan, machine, facts.model.measures if facts and facts.model else ()),
    )
    return (
        *_not_looked_at(view, facts),
        *(_concern(caution) for caution in _without_repeats(found)),
    )


def _going_on(view: PlanView, facts: PlanFacts | None) -> Iterator[Caution]:
    """A warning that a script goes on to train, where nobody has looked at what it gives `fit`."""
    if facts is None or facts.model is None:
        yield from fits_left(view.absolute)


def _not_looked_at(view: PlanView, facts: PlanFacts | None) -> Iterator[PlanConcern]:
    """A warning that the plan could not be looked at, for want of memory or of training before.

    It can be trained all the same.
    """
    why, advice = facts.not_looked_at if facts else ("", ())
    if why:
        yield PlanConcern(
            "not looked at",
            f"The plan could not be looked at: {why}",
            " ".join(advice),
            refused=True,
            trains=trains_before(view.absolute),
        )


def _known(view: PlanView, facts: PlanFacts | None) -> tuple[Caution, ...]:
    if facts is None:
        return ()
    # Imported only once something is known: it imports numpy, which would delay the window's start.
    from gpu_studio.placement.cautions import cautions_with

    return cautions_with(view.plan, view.machine, facts)


def _problems(view: PlanView) -> Iterator[PlanConcern]:
    shown = view.problems[:MOST]
    mends = mends_of(shown, view.plan, view.machine)
    for place, (problem, mend) in enumerate(zip(shown, mends, strict=True)):
        earlier = sum(each.field == problem.field for each in shown[:place])
        yield _standing(problem, f"{problem.field} {earlier}", mend, view)
    if len(view.problems) > MOST:
        yield PlanConcern("more", f"{len(view.problems) - MOST} more come after these")


def _standing(problem: Problem, key: str, mend: Remedy | None, view: PlanView) -> PlanConcern:
    """Return a problem as an obstacle; `mend` is the remedy of the plan's own rules."""
    if isinstance(problem, Refusal):
        mend, *others = problem.mends or (None,)
        return PlanConcern(
            key,
            problem.received,
            problem.advice,
            problem.field,
            mend,
            refused=True,
            details=problem.details,
            source=code_of(view.absolute, problem.field),
            others=tuple(filter(None, others)),
        )
    if isinstance(problem, MisplacedLayers):
        mend = problem.mend
    code = problem.path if isinstance(problem, ConsentProblem) else None
    awaited = isinstance(problem, Unnamed)
    said = "is still to be named" if awaited else f"is {problem.received}"
    return PlanConcern(key, said, problem.advice, problem.field, mend, code, awaited=awaited)


def _without_repeats(found: tuple[Caution, ...]) -> Iterator[Caution]:
    """Of two warnings with the same remedy, keep the graver one."""
    labels: set[str] = set()
    for caution in found:
        label = caution.mend.label if caution.mend else ""
        if not label or label not in labels:
            yield caution
        labels.add(label)


def _concern(caution: Caution) -> PlanConcern:
    return PlanConcern(
        caution.name,
        caution.text,
        caution.why,
        mend=caution.mend,
        others=caution.others,
        waits=caution.waits,
    )


Tone = Literal["bad", "warning", "plain"]
_SIGN = 14
IN_A_ROW = 2
QUEUE_IT = "Wait in the queue"


class ConcernView(QFrame):
    """One concern: an icon, its field if any, what it is, what it means, and a button per remedy.

    `mending(Concern)` carries the chosen remedy as its mend.
    """

    mending = Signal(object)

    def __init__(
        self,
        theme: ThemeManager,
        tone: Tone,
        queue: QAction | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tone = tone
        self.concern = PlanConcern("", "")
        self.setObjectName("notice")
        self._sign = QLabel()
        # A long field is elided in its middle: its end matters most, and it cannot be wrapped.
        self._field = Elided(role="mono", mode=Qt.TextElideMode.ElideMiddle)
        self._text, self._why = Paragraph(), Paragraph(role="caption")
        for each in (self._text, self._why):
            each.setMinimumWidth(1)  # a long name is cut rather than the figures below
        self.button, self.more = Button("", small=True), Button("Details", small=True)
        self.more.setToolTip("Show the traceback, which can be copied")
        self.others: list[Button] = []
        self._queue = queue
        self._foot = QGridLayout()
        theme.changed.connect(self._draw_sign)
        self._lay_out()
        self._wear(tone)

    def show_concern(self, concern: PlanConcern) -> None:
        """Show this one."""
        if concern == self.concern:
            return
        self.concern = concern
        self._wear("plain" if concern.awaited else self._tone)
        self.setAccessibleName(concern.said)
        self.setProperty(GUIDE_PLACE, _place_about(concern))
        # After a field the sentence continues: `training.batch_size` is 0.
        text = concern.text if concern.field else sentence(concern.text)
        for label, words in (
            (self._field, concern.field),
            (self._text, text),
            (self._why, sentence(concern.why)),
        ):
            label.setText(words)
            label.setVisible(bool(words))
        self.button.setVisible(bool(concern.action))
        self.button.setText(concern.action)
        self.button.setAccessibleName(f"{concern.action}, because {concern.said}")
        self.more.setVisible(bool(concern.details))
        self.more.setAccessibleName(f"Details of {concern.field}")
        self._show_others(concern)

    def _show_others(self, concern: PlanConcern) -> None:
        """Show the further remedies and, if it helps, the queue as the last one.

        Buttons that stay keep the focus.
        """
        labels = [mend.label for mend in concern.others]
        labels += [QUEUE_IT] if concern.waits and self._queue is not None else []
        if labels == [button.text() for button in self.others]:
            return
        for button in self.others:
            self._foot.removeWidget(button)
            button.hide()
            button.deleteLater()
        self.others = [
            self._remedy_button(place, mend.label) for place, mend in enumerate(concern.others)
        ]
        if len(labels) > len(self.others) and self._queue is not None:
            self.others.append(ActionButton(self._queue, text=QUEUE_IT, small=True))
        for place, button in enumerate(self.others, int(bool(concern.action))):
            self._foot.addWidget(button, place // IN_A_ROW, place % IN_A_ROW)

    def _remedy_button(self, place: int, label: str) -> Button:
        button = Button(label, small=True)
        button.setAccessibleName(f"{label}, because {self.concern.said}")
        button.clicked.connect(lambda: self.mending.emit(self.concern.by_other(place)))
        return button

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(2)
        for widget in (self._field, self._text, self._why):
            words.addWidget(widget)
        self._foot.setContentsMargins(0, GRID // 2, 0, 0)
        self._foot.setSpacing(GRID // 2)
        self._foot.addWidget(self.button, 0, 0)
        # A refusal has details, and no further remedies.
        self._foot.addWidget(self.more, 0, 1)
        self._foot.setColumnStretch(IN_A_ROW, 1)
        self.button.clicked.connect(lambda: self.mending.emit(self.concern))
        words.addLayout(self._foot)
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID + 2, GRID, GRID + 2, GRID)
        row.setSpacing(GRID)
        top = QVBoxLayout()
        top.addWidget(self._sign)
        top.addStretch(1)
        row.addLayout(top)
        row.addLayout(words, 1)

    def _wear(self, tone: Tone) -> None:
        if self.property("tone") != tone:
            self.setProperty("tone", tone)
            self.style().unpolish(self)
            self.style().polish(self)
        self._draw_sign()

    def _draw_sign(self) -> None:
        colour = (
            self._theme.tokens.muted
            if self.concern.awaited
            else getattr(self._theme.tokens, self._tone)
        )
        self._sign.setPixmap(pixmap("warning", colour, self.devicePixelRatioF(), _SIGN))


def _place_about(concern: PlanConcern) -> str:
    """The part of the guide about it; empty for that about all that keeps plans from running."""
    if concern.code is not None:
        return "own-code#allowing-code"
    return f"options#{concern.field}" if concern.field else ""


class ConcernList(QWidget):
    """The concerns, one below the other; views of concerns that stay are kept.

    `mending(Concern)` fires when a remedy's button is pressed, `reading(Concern)` when the user
    asks for details.
    """

    mending = Signal(object)
    reading = Signal(object)

    def __init__(self, theme: ThemeManager, tone: Tone, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tone: Tone = tone
        self.queue: QAction | None = None
        """What puts the plan into the queue, for what can be waited for there."""
        self.views: dict[str, ConcernView] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(GRID)

    def show_concerns(self, concerns: Sequence[PlanConcern]) -> None:
        """Show these; if the focused button goes, the focus moves to the next one."""
        before = self.views
        focused = next(
            (place for place, view in enumerate(before.values()) if holds_focus(view.button)), None
        )
        self.views = {concern.key: before.get(concern.key) or self._made() for concern in concerns}
        for place, concern in enumerate(concerns):
            view = self.views[concern.key]
            if self._column.indexOf(view) != place:
                self._column.insertWidget(place, view)
            view.show_concern(concern)
        self.setVisible(bool(concerns))
        gone = [view for key, view in before.items() if key not in self.views]
        self._pass_on_focus(focused, gone)
        for view in gone:
            self._column.removeWidget(view)
            view.hide()
            view.deleteLater()

    def _made(self) -> ConcernView:
        view = ConcernView(self._theme, self._tone, self.queue)
        view.mending.connect(self.mending)
        view.more.clicked.connect(lambda: self.reading.emit(view.concern))
        return view

    def _pass_on_focus(self, focused: int | None, gone: Sequence[ConcernView]) -> None:
        if focused is None or not any(holds_focus(view.button) for view in gone):
            return
        buttons = [view.button for view in self.views.values() if view.concern.action]
        if buttons:
            buttons[min(focused, len(buttons) - 1)].setFocus()
        else:
            # Qt itself would move the focus to whatever field comes next.
            self.window().setFocus()
