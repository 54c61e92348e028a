"""The Plan page: what TensorFlow shall see, how it shall train, and what will happen then."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from gpu_studio.ui.action_set import ActionSet
from gpu_studio.ui.models import plan_edits
from gpu_studio.ui.models.plan_document import PlanDocument
from gpu_studio.ui.models.readiness import Readiness
from gpu_studio.ui.pages.plan.devices_card import DevicesCard
from gpu_studio.ui.pages.plan.distribution_card import STRATEGIES, DistributionCard
from gpu_studio.ui.pages.plan.outlook_card import OutlookCard
from gpu_studio.ui.pages.plan.text_card import TextCard
from gpu_studio.ui.pages.plan.training_card import TrainingCard
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.button import ActionButton, PrimaryButton
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.labels import Paragraph
from gpu_studio.ui.widgets.page import GAP, Page

WAITING = "A starter plan is made once this machine's devices are known. A plan of your own can be opened at once."


class PlanName(QLineEdit):
    """The heading, which is the plan's name and can be changed in place. As wide as its text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("headline")
        self.setFont(font("heading"))
        self.setAccessibleName("name of the plan")
        self.setToolTip("The plan's name; runs are called after it")
        self.textChanged.connect(self._fit)

    def _fit(self, text: str) -> None:
        self.setFixedWidth(min(480, max(120, self.fontMetrics().horizontalAdvance(text) + 14)))


class PlanPage(Page):
    """Shows the document's plan, and turns what a person changes into undoable steps of the document."""

    def __init__(
        self,
        theme: ThemeManager,
        document: PlanDocument,
        readiness: Readiness,
        actions: ActionSet,
        parent: QWidget | None = None,
    ) -> None:
        self.name = PlanName()
        super().__init__(self.name, parent)
        self._theme = theme
        self._document = document
        self._readiness = readiness
        self.devices = DevicesCard(theme)
        self.training = TrainingCard()
        self.distribution = DistributionCard()
        self.text = TextCard(actions["copy_plan"])
        self.outlook = OutlookCard(theme)
        self._add_buttons(actions)
        self._lay_out()
        self._connect()
        self._show()

    def _add_buttons(self, actions: ActionSet) -> None:
        for name in ("undo", "redo"):
            self.add_button(ActionButton(actions[name], "quiet", text=""))
        self.add_button(ActionButton(actions["open_plan"], text="Open…"))
        self.add_button(ActionButton(actions["save_plan"], text="Save"))
        self.add_button(PrimaryButton(self._theme, actions["train"], "play"))

    def _lay_out(self) -> None:
        top, below = QHBoxLayout(), QHBoxLayout()
        for row in (top, below):
            row.setSpacing(GAP)
        top.addWidget(self.devices, 11)
        top.addWidget(self.training, 9)
        top.addWidget(self.distribution, 10)
        below.addWidget(self.text, 2)
        below.addWidget(self.outlook, 1)
        self._cards, self._waiting = QWidget(), Card()
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
        self._readiness.changed.connect(self._show)
        self.name.textEdited.connect(self._rename)
        self.devices.list.slices_chosen.connect(self._carve)
        self.training.edited.connect(self._train_otherwise)
        self.distribution.chosen.connect(self._distribute)

    def _show(self) -> None:
        plan, machine = self._document.plan, self._readiness.machine
        self.caption.setText(self._caption())
        for part in (self.name, self._cards):
            part.setVisible(plan is not None)
        self._waiting.setVisible(plan is None)
        if plan is None:
            return
        if self.name.text() != plan.name:
            self.name.setText(plan.name)
        self.training.show_plan(plan)
        self.distribution.show_plan(plan)
        self.text.show_plan(plan)
        if machine is not None:
            self.devices.show_plan(plan, machine)
            self.outlook.show_plan(plan, machine, self._readiness.problems)

    def _caption(self) -> str:
        if self._document.plan is None:
            return "looking at the machine…"
        if self._document.dirty:
            return "unsaved changes"
        return self._document.path.name if self._document.path else "not saved to a file yet"

    def _rename(self, name: str) -> None:
        if self._document.plan is not None:
            self._document.replace(replace(self._document.plan, name=name), "rename plan", "name")

    def _carve(self, device: str, count: int) -> None:
        plan, machine = self._document.plan, self._readiness.machine
        if plan is not None and machine is not None:
            cut = f"cut {device} into {count}" if count > 1 else f"leave {device} whole"
            self._document.replace(plan_edits.set_slices(plan, device, count, machine), cut)

    def _train_otherwise(self, field: str, value: object) -> None:
        if self._document.plan is not None:
            changed = plan_edits.set_training(self._document.plan, **{field: value})
            self._document.replace(changed, f"change {field.replace('_', ' ')}", f"training.{field}")

    def _distribute(self, strategy: str) -> None:
        if self._document.plan is not None:
            title = STRATEGIES[strategy][0].lower()
            self._document.replace(plan_edits.set_strategy(self._document.plan, strategy), f"distribute: {title}")
