"""Rows under each other."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.plan.options import Option
from gpu_studio.ui.models.plan.plan_view import PlanView
from gpu_studio.ui.pages.plan.form.controls import control_for
from gpu_studio.ui.pages.plan.form.field import AnyField, Field, name_in_words
from gpu_studio.ui.pages.plan.form.row import CONTROL, Row
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.labels import Label


class Form(QWidget):
    """Rows by the path of their field, and whatever else is put between them with `put`."""

    edited = Signal(object)

    def __init__(self, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: dict[str, Row] = {}
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(GRID // 2)
        if title:
            self.setAccessibleName(title)
            self.column.addWidget(Label(title.upper(), "section"))

    def add(self, field: AnyField, control: Any, *, wide: bool = False, width: int = CONTROL) -> Row:
        """A row for a field."""
        row = Row(field, control, wide=wide, width=width)
        row.edited.connect(self.edited)
        self.rows[field.path] = row
        self.column.addWidget(row)
        return row

    def add_limited(self, path: str, option: Option, label: str = "") -> Row:
        """A row for a number of a part, of which `option` knows default, bounds and help."""
        field = Field(path, label or name_in_words(path), option.help, option.default)
        return self.add(field, control_for(option, field.label))

    def put(self, widget: QWidget) -> None:
        """Something else under the rows so far. What has the signal `edited` is listened to."""
        self.column.addWidget(widget)
        if hasattr(widget, "edited"):
            widget.edited.connect(self.edited)

    def show_view(self, view: PlanView) -> None:
        """Show the plan in every row."""
        for row in self.rows.values():
            row.show_view(view)
