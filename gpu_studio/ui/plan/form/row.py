"""One row of a form."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from gpu_studio.placement.known_problems import Refusal
from gpu_studio.plan import Problem
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.problems import Unnamed
from gpu_studio.ui.kit.button import Button
from gpu_studio.ui.kit.labels import Elided, Label, Paragraph
from gpu_studio.ui.kit.sentences import sentence
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.plan.form.field import AnyField, Edit
from gpu_studio.ui.plan.plan_view import PlanView

LABEL = 128
CONTROL = 188
NAME = 256
"""Of a control that holds one of Keras' long names."""


class FormRow(QWidget):
    """A field: its label, its control, a hint, and its error if it has one.

    The control is one of `ui.kit.fields`. `edited(Change)` is the user's change. The button at the
    row's end restores the default; for an option without a known default, it says that it removes
    the option.
    """

    edited = Signal(object)

    def __init__(
        self,
        field: AnyField,
        control: Any,
        parent: QWidget | None = None,
        *,
        back: str = "Reset",
        wide: bool = False,
        width: int = CONTROL,
    ) -> None:
        super().__init__(parent)
        self.field = field
        self.control = control
        self.label = Elided(field.label, "muted")
        self.hint = Label(field.hint, "caption")
        self.hint.setWordWrap(True)
        self.problem = Paragraph("", "caption")
        self.problem.setProperty("tone", "bad")
        self.back = Button(back, "quiet", small=True)
        self._lay_out(width, wide=wide)
        self._name(back)
        control.edited.connect(self._tell)
        self.back.clicked.connect(self._go_back)

    def show_view(self, view: PlanView) -> None:
        """Show the field's value in the plan, and its error."""
        self.control.show_value(self.field.value(view.plan))
        self.say(self._problems(view))
        self.back.setVisible(not self.field.is_default(view.plan))

    def say(self, problems: tuple[Problem, ...]) -> None:
        """Tell what is wrong, under the control; nothing takes no room.

        Of a field that waits for its first entry nothing is wrong: what to write there stands in
        it. What TensorFlow refused is said where its answer would stand.
        """
        wrong = (
            each for each in dict.fromkeys(problems) if not isinstance(each, Unnamed | Refusal)
        )
        text = "\n".join(f"✘ {sentence(f'{each.received}: {each.advice}')}" for each in wrong)
        if self.problem.text() != text:
            self.problem.setText(text)
        self.problem.setVisible(bool(text))

    def _problems(self, view: PlanView) -> tuple[Problem, ...]:
        if not view.problems:
            return ()
        within = [
            each
            for path in self.field.problems or (self.field.path,)
            for each in view.problems_at(path)
        ]
        exact = getattr(self.field, "exact", ())
        return (*within, *(each for each in view.problems if each.field in exact))

    def _tell(self, value: Any) -> None:
        self._report(self.field.set(value), "change", merge=self.control.merges)

    def _go_back(self) -> None:
        # The button is about to be hidden, and must not pass the focus elsewhere.
        self.control.setFocus(Qt.FocusReason.OtherFocusReason)
        self._report(self.field.reset(), self.back.text().lower())

    def _report(self, edit: Edit, verb: str, *, merge: bool = False) -> None:
        self.edited.emit(
            Change(edit, f"{verb} {self.field.label}", self.field.place if merge else "")
        )

    def _name(self, back: str) -> None:
        # By its path in the plan, because the card above has fields with the same labels.
        name = " ".join(self.field.place.replace("_", " ").split("."))
        self.control.setAccessibleName(name)
        if isinstance(self.control, QComboBox):
            self.control.setAccessibleDescription(name)
        self.label.setBuddy(self.control)
        self.control.set_tip(self.field.hint)
        self.back.setAccessibleName(f"{back.lower()} {name}")
        self.back.setToolTip(
            f"Back to the {self.field.hint.rpartition(' · ')[2]}"
            if self.field.default is not None
            else back
        )
        self.back.hide()
        self.problem.hide()

    def _lay_out(self, width: int, *, wide: bool) -> None:
        self.label.setFixedWidth(LABEL)
        row = self.line = QHBoxLayout()
        row.setSpacing(GRID)
        row.addWidget(self.label)
        row.addWidget(self.control, 1 if wide else 0)
        row.addWidget(self.hint, 0 if wide else 1)
        self.hint.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        if wide:
            self.hint.hide()
        else:
            self.control.setFixedWidth(width)
        row.addWidget(self.back)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(row)
        column.addWidget(self.problem)
        self.problem.setContentsMargins(LABEL + GRID, 0, 0, 2)
