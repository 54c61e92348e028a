"""One card in the Devices tab: its bar, large, what can be done with its slices, and their exact sizes."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.plan.hiding import without
from gpu_studio.ui.models.plan import carve_steps
from gpu_studio.ui.models.plan.edits.carving import Carved, change_of, equal_change
from gpu_studio.ui.models.plan.edits.visibility import forget_device, show_card
from gpu_studio.ui.models.plan.plan_view import Change, PlanView
from gpu_studio.ui.models.plan.strips import WHOLE, Strip
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.carving.carve_bar import CarveBar
from gpu_studio.ui.widgets.carving.carve_menu import deeds, titles
from gpu_studio.ui.widgets.carving.slice_fields import SliceFields
from gpu_studio.ui.widgets.carving.strip_view import CUTS
from gpu_studio.ui.widgets.fields import Choice
from gpu_studio.ui.widgets.labels import Elided, Label, Paragraph
from gpu_studio.ui.widgets.problem_line import ProblemLine

BAR_HEIGHT = 56
DEEDS = ("Split", "Merge", "Remove", "Add", "Equal")


class CardEditor(QWidget):
    """Shows one card, or one that the plan names and the machine has not. `edited(Change)` is what is wanted."""

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view: PlanView | None = None
        self._strip: Strip | None = None
        self._name, self._detail = Label(role="strong"), Elided(role="muted")
        self.choice = Choice("equal slices", CUTS)
        self.bar = CarveBar(theme, height=BAR_HEIGHT, marked=True)
        self.problem = ProblemLine(theme)
        self._note = Paragraph(role="caption")
        self.buttons = {name: Button(name, small=True) for name in DEEDS}
        self.mend = Button("", small=True)
        self.fields = SliceFields(theme)
        self._lay_out()
        self._connect()

    def show_strip(self, strip: Strip, view: PlanView) -> None:
        """Show a card under the plan."""
        self._strip, self._view = strip, view
        self._name.setText(strip.name)
        self._detail.setText(strip.detail)
        self.choice.setAccessibleName(f"equal slices of {strip.name}")
        self.choice.setAccessibleDescription(f"equal slices of {strip.name}")
        self.choice.setVisible(strip.track is not None)
        self.choice.show_value(strip.cut)
        self.bar.setAccessibleName(f"carve of {strip.name}, to scale")
        self.bar.show_strip(strip)
        self.problem.say(strip.errors, strip.caution)
        self._note.setText(strip.note)
        self._note.setVisible(bool(strip.note))
        self._show_mend(strip)
        self._show_track()

    def _show_mend(self, strip: Strip) -> None:
        # To show a card that does not answer would only make a problem.
        self.mend.setVisible(strip.track is None and (strip.visible or not strip.lost))
        self.mend.setText("Take out of the plan" if strip.missing else "Hide it" if strip.lost else "Make visible")
        self.mend.setAccessibleName(f"{self.mend.text()}: {strip.name}")

    def _show_track(self) -> None:
        track = self._strip.track if self._strip else None
        for widget in (self.fields, *self.buttons.values()):
            widget.setVisible(track is not None)
        if track is not None:
            self.fields.show_track(track)
        self._show_buttons()

    def _show_buttons(self) -> None:
        """Say what each button does with the slice that is current, or why it cannot."""
        track = self._strip.track if self._strip else None
        if track is None:
            return
        words = titles(track, self.bar.current)
        for name, why_not, _ in deeds(track, self.bar.current):
            button = self.buttons[name]
            button.setEnabled(not why_not)
            button.setToolTip(why_not or words[name])
            button.setAccessibleName(words[name])

    def _lay_out(self) -> None:
        head, row, column = QHBoxLayout(), QHBoxLayout(), QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID)
        for each in (head, row):
            each.setSpacing(GRID // 2)
        head.setSpacing(GRID)
        head.addWidget(self._name)
        head.addWidget(self._detail)
        head.addStretch(1)
        head.addWidget(self.choice)
        for button in self.buttons.values():
            row.addWidget(button)
        row.addWidget(self.mend)
        row.addStretch(1)
        column.addLayout(head)
        for widget in (self.bar, self.problem, self._note):
            column.addWidget(widget)
        column.addLayout(row)
        column.addWidget(self.fields)
        column.addStretch(1)

    def _connect(self) -> None:
        self.choice.setToolTip("Cut the card into equal slices of what is free")
        self.choice.edited.connect(self._cut)
        self.bar.carved.connect(self._carve)
        self.bar.selected.connect(self._show_buttons)
        self.fields.sized.connect(self._size)
        self.fields.entered.connect(self.bar.select)
        self.mend.clicked.connect(self._mend)
        for name, button in self.buttons.items():
            button.clicked.connect(lambda _=False, name=name: self._do(name))

    def _carve(self, carved: Carved) -> None:
        if self._view is not None:
            self.edited.emit(change_of(carved, self._view.machine))

    def _cut(self, text: str) -> None:
        if self._view is not None and self._strip is not None:
            count = 1 if text == WHOLE else int(text.split()[0])
            self.edited.emit(equal_change(self._strip.device, count, self._view.machine))

    def _size(self, index: int, size: int) -> None:
        if self._strip is not None and self._strip.track is not None:
            self._carve(carve_steps.resized(self._strip.track, index, size))

    def _do(self, name: str) -> None:
        if self._strip is not None and self._strip.track is not None:
            make = next(make for each, _, make in deeds(self._strip.track, self.bar.current) if each == name)
            self._carve(make())

    def _mend(self) -> None:
        if self._view is None or self._strip is None:
            return
        device, machine, name = self._strip.device, self._view.machine, self._strip.name
        if self._strip.missing:
            change = Change(lambda plan: forget_device(plan, device, machine), f"take {name} out of the plan")
        elif self._strip.lost:
            change = Change(lambda plan: without(plan, machine, [device]), f"hide {name}")
        else:
            change = Change(lambda plan: show_card(plan, device, machine), f"show {name}")
        self.edited.emit(change)
