"""What is different between the open plan and its file, or another plan."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.plan import Plan
from gpu_studio.plan.difference import differences
from gpu_studio.ui.models.plan.plan_view import PlanView
from gpu_studio.ui.models.runs.differences_model import DifferencesModel
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.units import plural
from gpu_studio.ui.widgets.button import ActionButton
from gpu_studio.ui.widgets.labels import Elided, Paragraph
from gpu_studio.ui.widgets.tables.table import Table

_WIDTHS = {1: 200, 2: 200}
NOTHING = "Each field that is changed stands here from then on, with its value there and here, until the plan is saved."


class ChangesTab(QWidget):
    """A table of the fields that differ. `compare` holds the open plan against another one from then on."""

    edited = Signal(object)

    def __init__(self, choose: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = DifferencesModel(self)
        self.table = Table(self.model, "fields that differ")
        self.table.set_widths(_WIDTHS, stretch=0)
        self._words = Elided(role="muted")
        self._nothing = Paragraph(NOTHING, "caption")
        self._view: PlanView | None = None
        self._other: tuple[str, Plan] | None = None
        row, column = QHBoxLayout(), QVBoxLayout(self)
        row.addWidget(self._words)
        row.addStretch(1)
        row.addWidget(ActionButton(choose, "quiet", text="Compare with…", small=True))
        column.setContentsMargins(GRID // 2, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addLayout(row)
        column.addWidget(self._nothing)
        column.addWidget(self.table, 1)
        column.addStretch(0)

    def compare(self, path: Path, plan: Plan) -> None:
        """Hold the open plan against that of another file."""
        self._other = (path.name, plan)
        self._compare()

    def show_view(self, view: PlanView) -> None:
        """Show how the plan differs."""
        self._view = view
        self._compare()

    def _compare(self) -> None:
        if self._view is None:
            return
        name, plan = self._other or _stored(self._view)
        rows = differences(plan, self._view.plan)
        self.model.set_rows(rows)
        self.table.setVisible(bool(rows))
        self._nothing.setVisible(not rows)
        self._words.setText(f"{plural(len(rows), 'field')} not as in {name}" if rows else f"The same as {name}")


def _stored(view: PlanView) -> tuple[str, Plan]:
    name = f"{view.path.name}, its file" if view.path else "the plan that it began as"
    return name, view.stored or view.plan
