"""The Plan page: the visible devices, the training, and the forecast of both."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QSize, Signal
from PySide6.QtGui import QAction, QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QMenu, QSizePolicy, QVBoxLayout, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.placement.given_batches import given_batch
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan import RUNNABLE_STRATEGIES, Plan
from gpu_studio.plan.edits.change import Change
from gpu_studio.ui.kit import (
    GAP,
    ActionButton,
    ActionSet,
    Button,
    CardFrame,
    Page,
    Paragraph,
    PrimaryButton,
    ThemeManager,
    WhenSeen,
    font,
)
from gpu_studio.ui.machine.checkup import Checkup
from gpu_studio.ui.plan.cluster_examination import ClusterExamination
from gpu_studio.ui.plan.devices_card import DevicesCard
from gpu_studio.ui.plan.distribution_card import DistributionCard
from gpu_studio.ui.plan.outlook_card import OutlookCard
from gpu_studio.ui.plan.plan_document import PlanDocument
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.plan.plan_view import PlanView, mistakes
from gpu_studio.ui.plan.readiness import Readiness
from gpu_studio.ui.plan.training_card import TrainingCard
from gpu_studio.ui.plan.workspace import Workspace, add_tabs

if TYPE_CHECKING:
    from gpu_studio.ui.plan.repair_pane import RepairPane

WAITING = "Looking at this machine's devices. A plan of your own can be opened meanwhile."


WIDEST_NAME, NARROWEST_NAME = 480, 120
ICON_BUTTON = 32
MORE_WIDTH = 44
KEPT_OF_NAME = 280
"""So much of a long name is kept before the line beside it gives way."""


class PlanName(QLineEdit):
    """The heading: the plan's name, editable in place, as wide as its text if that fits."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("headline")
        self.setFont(font("heading"))
        self.setAccessibleName("name of the plan")
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.textChanged.connect(self._fit)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The width of the text, within bounds."""
        width = self.fontMetrics().horizontalAdvance(self.text()) + 14
        return QSize(min(WIDEST_NAME, max(NARROWEST_NAME, width)), super().sizeHint().height())

    def _fit(self, text: str) -> None:
        self.setMinimumWidth(min(KEPT_OF_NAME, self.sizeHint().width()))
        self.updateGeometry()
        self.setToolTip(
            f"{text}: the plan's name; runs are called after it" if text else "The plan's name"
        )
        if not self.hasFocus():
            self.setCursorPosition(0)


class PlanPage(Page):
    """Shows the document's plan, and turns the user's changes into undo steps of the document.

    `repaired(path, read, text, opens)` brings the text of a broken file as the user has mended it.
    `seen(bool)` reports when the page becomes visible or hidden; `part_opened(name)` when the user
    opens the tab of a part of the plan.
    """

    repaired = Signal(object, str, str, bool)
    seen = Signal(bool)
    part_opened = Signal(str)

    def __init__(
        self,
        theme: ThemeManager,
        document: PlanDocument,
        readiness: Readiness,
        facts: FactsReader,
        checkup: Checkup,
        actions: ActionSet,
        parent: QWidget | None = None,
        *,
        runs: Path | None = None,
    ) -> None:
        self.name = PlanName()
        super().__init__(self.name, parent)
        self._theme = theme
        self._document = document
        self._readiness = readiness
        self._facts = facts
        self._checkup = checkup
        self._actions = actions
        self._shown: PlanView | None = None
        self.mending: RepairPane | None = None
        self.devices = DevicesCard(theme)
        self.training = TrainingCard(theme)
        self.distribution = DistributionCard(theme)
        self.outlook = OutlookCard(theme)
        self.examination = ClusterExamination(runs, self)
        self.workspace = Workspace(theme)
        self._seen = WhenSeen(self, self._show)
        self._parts = (self.devices, self.training, self.distribution, self.outlook, self.workspace)
        add_tabs(self.workspace, theme, facts, checkup, actions, runs)
        self._add_buttons(actions)
        self._lay_out()
        self._connect()
        self._show()

    @property
    def part(self) -> str:
        """The part of the plan whose tab is open."""
        return self.workspace.current

    def open_part(self, name: str) -> None:
        """Open the tab of a part of the plan. Raises KeyError if there is none of the name."""
        self.workspace.open(name)

    def enter_part(self, name: str) -> None:
        """Open the tab of a part of the plan, and go to its first field.

        Raises KeyError likewise.
        """
        self.workspace.enter(name)

    def step_part(self, by: int) -> None:
        """Open the tab that many further on; the first follows the last."""
        self.workspace.step(by)

    def begin_with_part(self, name: str) -> None:
        """Open a tab once there is a plan; a tab that no longer exists is ignored."""
        self.workspace.begin_with(name)

    def compare(self, name: str, plan: Plan) -> None:
        """Show the differences between the open plan and another of this name."""
        self.workspace.open("Changes").compare(name, plan)  # type: ignore[attr-defined]

    def repair(self, path: Path, text: str, edited: str | None = None) -> None:
        """Show the text of a broken plan file, as it was `edited` before, to be corrected."""
        tab = self.workspace.open("File")
        if self.mending is None:
            pane: RepairPane = tab.mending  # type: ignore[attr-defined]
            pane.wanted.connect(self.repaired)
            self.mending = pane
        tab.repair(path, text, edited)  # type: ignore[attr-defined]

    @property
    def is_repairing(self) -> bool:
        """Whether a file that cannot be used is being mended in front of the person."""
        return self.mending is not None and self.mending.isVisible()

    @property
    def step_seconds(self) -> float | None:
        """The predicted seconds of a step of the placed plan, from measured times.

        None if unknown, as of a plan that the tab of the layers has not shown yet.
        """
        layers = self.workspace.made("Layers")
        if layers is None or self._shown is None or self._seen.due:
            return None
        plan = self._shown.plan
        seconds: float | None = layers.step_seconds_of(plan)  # type: ignore[attr-defined]
        return seconds

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Ask for facts only once the page is visible."""
        super().showEvent(event)
        if self._checkup.diagnosis is None:
            self._checkup.glance()
        self._ask()
        self.seen.emit(True)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        """Report that the page is hidden."""
        super().hideEvent(event)
        self.seen.emit(False)

    def _add_buttons(self, actions: ActionSet) -> None:
        icons = QHBoxLayout()
        icons.setSpacing(2)
        for name in ("undo", "redo", "open_plan", "save_plan"):
            icons.addWidget(_icon_button(actions[name]))
        self.header.addLayout(icons)
        self.add_button(_new_button(actions))
        self.add_button(ActionButton(actions["copy_python"], text="Copy as Python"))
        self.add_button(PrimaryButton(self._theme, actions["train"], "play"))
        self.add_button(_more_button(actions))

    def _lay_out(self) -> None:
        top, below = QHBoxLayout(), QHBoxLayout()
        for row in (top, below):
            row.setSpacing(GAP)
        top.addWidget(self.devices, 11)
        top.addWidget(self.training, 9)
        top.addWidget(self.distribution, 10)
        below.addWidget(self.workspace, 2)
        below.addWidget(self.outlook, 1)
        self._cards, self._waiting = QWidget(), CardFrame()
        cards = QVBoxLayout(self._cards)
        cards.setContentsMargins(0, 0, 0, 0)
        cards.setSpacing(GAP)
        cards.addLayout(top)
        cards.addLayout(below, 1)
        self._waiting.body.addWidget(Paragraph(WAITING))
        self.column.addWidget(self._waiting)
        self.column.addWidget(self._cards, 1)
        self.column.addStretch(0)

    def _connect(self) -> None:
        self._readiness.changed.connect(self._heed)
        self._facts.changed.connect(self._hear)
        self.workspace.opened.connect(self.part_opened)
        self.name.textEdited.connect(self._rename)
        self.training.set_facts(self._facts)
        self.outlook.set_facts(self._facts)
        self.outlook.set_examination(self.examination)
        self._checkup.follow_topology(self.outlook.set_topology)
        self.outlook.warnings.queue = self._actions["queue_plan"]
        for part in self._parts:
            part.edited.connect(self._apply)

    def _heed(self) -> None:
        """Show what has changed once the page is seen; a first plan before, as it takes longest."""
        if self._shown is None:
            self._show()
        else:
            self._seen.want()

    def _show(self) -> None:
        view = self._view()
        self.caption.setText(self._caption())
        self.caption.shorter = (self._caption().removesuffix(" yet").removesuffix(" changes"),)
        self.name.setVisible(self._document.plan is not None)
        if self._document.plan is not None and self.name.text() != self._document.plan.name:
            self.name.setText(self._document.plan.name)
        self._shown = view
        if view is not None:
            for part in self._parts:
                part.show_view(view)
        # Only once they are filled: cards that are seen are laid out anew for whatever is put in.
        self._waiting.setVisible(view is None)
        self._cards.setVisible(view is not None)
        if view is not None:
            self._ask()

    def _view(self) -> PlanView | None:
        document, machine = self._document, self._readiness.machine
        if document.plan is None or machine is None:
            return None
        problems, text = self._readiness.problems, partial(getattr, document, "text")
        stored = document.stored and self._completed(document.stored)
        file = document.path, stored, text, document.half_typed
        plan, left = self._completed(document.plan), document.plan.training.as_in_script
        of_data = self._comes_in_batches(document.plan)
        return PlanView(plan, machine, problems, document.folder, *file, left, of_data)

    def _known(self, plan: Plan) -> PlanFacts | None:
        """What is known of a plan that leaves something to its script or its data."""
        leaves = plan.training.as_in_script or plan.data.python
        absolute = self._document.absolute if leaves else None
        return self._facts.facts_so_far(absolute) if absolute else None

    def _completed(self, plan: Plan) -> Plan:
        """The plan with what it leaves to its script or its data, as far as that is known."""
        facts = self._known(plan)
        return facts.completed(plan) if facts else plan

    def _comes_in_batches(self, plan: Plan) -> bool:
        facts = self._known(plan)
        return bool(facts and facts.data and given_batch(facts.data.streamed))

    def _hear(self) -> None:
        """Show what the facts say of what the plan leaves to its script or its data."""
        plan, shown = self._document.plan, self._shown
        if shown and plan:
            now = self._completed(plan), self._comes_in_batches(plan)
            if now != (shown.plan, shown.of_data):
                self._seen.want()

    def _ask(self) -> None:
        if (plan := self._document.absolute) is not None and self.isVisible():
            self._facts.follow(plan)
            self.examination.follow(None if self._readiness.problems else plan)

    def _caption(self) -> str:
        if self._document.plan is None:
            return "looking at the machine…"
        machine, wrong = self._readiness.machine, len(mistakes(self._readiness.problems))
        marked = machine.marked if machine is not None else ""
        file = self._document.path.name if self._document.path else "not saved yet"
        kept = "unsaved changes" if self._document.dirty else file
        return " · ".join(filter(None, (plural(wrong, "problem") if wrong else "", marked, kept)))

    def _rename(self, name: str) -> None:
        self._apply(Change(lambda plan: replace(plan, name=name), "rename plan", "name"))

    def _apply(self, change: Change) -> None:
        if self._document.plan is None:
            return
        if change.half_typed is not None:
            self._document.type_half(change.half_typed)
            return
        if change.written is not None:
            self._document.type_half(None)
            self._document.keep_text(change.written)
        self._document.replace(change.make(self._document.plan), change.text, change.field)


def _icon_button(action: QAction) -> ActionButton:
    button = ActionButton(action, "quiet", text="")
    button.setFixedWidth(ICON_BUTTON)
    return button


def _new_button(actions: ActionSet) -> Button:
    button = Button("New")
    menu = QMenu(button)
    menu.setToolTipsVisible(True)
    menu.addAction(actions["new_starter"])
    menu.addSeparator()
    for strategy in RUNNABLE_STRATEGIES:
        menu.addAction(actions[f"new_{strategy}"])
    button.setMenu(menu)
    button.setToolTip("A plan made for this machine, with the strategy of your choice")
    return button


def _more_button(actions: ActionSet) -> Button:
    button = Button("⋯")
    button.setAccessibleName("More ways to train")
    button.setToolTip("Other ways to train this plan")
    button.setFixedWidth(MORE_WIDTH)
    menu = QMenu(button)
    menu.setToolTipsVisible(True)
    menu.addActions([actions[name] for name in ("train", "queue_plan", "cancel_resuming")])
    button.clicked.connect(lambda: menu.popup(button.mapToGlobal(QPoint(0, button.height() + 2))))
    return button
