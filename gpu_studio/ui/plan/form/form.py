"""A form: rows, one below the other."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.plan.options import Option
from gpu_studio.ui.kit.labels import Label
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.plan.form.controls import control_for
from gpu_studio.ui.plan.form.field import AnyField, Field, name_in_words
from gpu_studio.ui.plan.form.row import CONTROL, FormRow
from gpu_studio.ui.plan.plan_view import PlanView


class Form(QWidget):
    """Rows by the path of their field, and other widgets placed between them with `put`."""

    edited = Signal(object)

    def __init__(self, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: dict[str, FormRow] = {}
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(GRID // 2)
        if title:
            self.setAccessibleName(title)
            self.column.addWidget(Label(title.upper(), "section"))

    def add(
        self, field: AnyField, control: Any, *, wide: bool = False, width: int = CONTROL
    ) -> FormRow:
        """Add a row for a field."""
        row = FormRow(field, control, wide=wide, width=width)
        row.edited.connect(self.edited)
        self.rows[field.path] = row
        self.column.addWidget(row)
        return row

    def add_limited(self, path: str, option: Option, label: str = "") -> FormRow:
        """Add a row for a number; `option` gives its default, bounds and help."""
        field = Field(path, label or name_in_words(path), option.help, option.default)
        return self.add(field, control_for(option, field.label))

    def put(self, widget: QWidget) -> None:
        """Add another widget below the rows so far. Its signal `edited`, if any, is forwarded."""
        self.column.addWidget(widget)
        if hasattr(widget, "edited"):
            widget.edited.connect(self.edited)

    def show_view(self, view: PlanView) -> None:
        """Show the plan in every row."""
        for row in self.rows.values():
            row.show_view(view)
