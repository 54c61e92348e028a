"""The options of something that a plan names: its known options, and all others in the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.plan.edits.plan_path import value_at
from gpu_studio.plan.options import Option
from gpu_studio.plan.problems import path_to, printable
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.plan.form.controls import control_for, parameter_field, toml_field
from gpu_studio.ui.plan.form.field import OptionField
from gpu_studio.ui.plan.form.row import FormRow
from gpu_studio.ui.plan.form.tab_order import follow_layout
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.python_functions import Parameter

Known = Option | Parameter
Shape = tuple[Known | str, ...]


class OptionRows(QWidget):
    """A row for every option in the table at `path` of a plan.

    A known option has a control that suits it and can be reset to its default. So does a parameter
    of a user's function, which takes any value. Unknown options are typed as TOML and can be
    removed. Rows stay as long as their option does, so that they keep the focus and the cursor.
    Problems of options are shown at `problems_path` with the option's name.
    """

    edited = Signal(object)

    def __init__(self, path: str, problems_path: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.path = path
        self._problems_path = problems_path or path
        self._shape: Shape = ()
        self.rows: dict[str, FormRow] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(GRID // 2)

    def show_options(self, view: PlanView, known: Sequence[Known] = ()) -> None:
        """Show the plan's options; `known` are those of what the plan names."""
        given: Mapping[str, Any] = value_at(view.plan, self.path) or {}
        names = {option.name for option in known}
        self._arrange((*known, *(key for key in given if key not in names)))
        for row in self.rows.values():
            row.show_view(view)
        self.setVisible(bool(self.rows))

    def _arrange(self, shape: Shape) -> None:
        if shape == self._shape:
            return
        before, self.rows = self.rows, {}
        # Not a set: an option's default may be a list.
        kept = [each for each in shape if each in self._shape]
        for place, each in enumerate(shape):
            key = each if isinstance(each, str) else each.name
            row = before.pop(key) if each in kept else self._make(each)
            self.rows[key] = row
            if self._column.indexOf(row) != place:
                self._column.insertWidget(place, row)
        for row in before.values():
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._shape = shape
        follow_layout(self)

    def _make(self, what: Known | str) -> FormRow:
        if isinstance(what, str):
            field = OptionField(
                self.path, what, printable(what), problems=(path_to(self._problems_path, what),)
            )
            row = FormRow(field, toml_field(f"option {printable(what)}"), back="Remove")
        elif isinstance(what, Parameter):
            problems = (path_to(self._problems_path, what.name),)
            field = OptionField(self.path, what.name, what.name, what.hint, what.default, problems)
            row = FormRow(field, parameter_field(what), back="Reset" if what.written else "Remove")
        else:
            label = what.name.replace("_", " ")
            problems = (path_to(self._problems_path, what.name),)
            field = OptionField(self.path, what.name, label, what.help, what.default, problems)
            row = FormRow(field, control_for(what))
        row.edited.connect(self.edited)
        return row
