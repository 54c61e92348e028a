"""The differences between the open plan and its file, or another plan."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.plan import Plan
from gpu_studio.plan.difference import Difference, differences
from gpu_studio.ui.kit.button import ActionButton
from gpu_studio.ui.kit.labels import Elided, Paragraph
from gpu_studio.ui.kit.plain_table import PlainTable
from gpu_studio.ui.kit.tables.table import Table
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.plan.plan_view import PlanView

LEFT_OUT = "left out"


class DifferencesModel(PlainTable[Difference]):
    """A row for each field that differs: the other plan's value, and the open plan's."""

    headers = ("Field", "There", "Here")

    def key(self, row: Difference) -> str:
        """The field."""
        return row.field

    def text(self, row: Difference, column: int) -> str:
        """The field, or its value in a plan."""
        return (row.field, row.before or LEFT_OUT, row.after or LEFT_OUT)[column]


_WIDTHS = {1: 200, 2: 200}
NOTHING = (
    "Each field that is changed stands here from then on, with its value there "
    "and here, until the plan is saved."
)


class ChangesTab(QWidget):
    """A table of the fields that differ. `compare` chooses another plan to compare with."""

    edited = Signal(object)

    def __init__(self, choose: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = DifferencesModel(self)
        self.table = Table(self.model, "fields that differ")
        self.table.set_widths(_WIDTHS, stretch=0)
        self.compared_text = Elided(role="muted")
        self._nothing = Paragraph(NOTHING, "caption")
        self._view: PlanView | None = None
        self._other: tuple[str, Plan] | None = None
        row, column = QHBoxLayout(), QVBoxLayout(self)
        row.addWidget(self.compared_text)
        row.addStretch(1)
        row.addWidget(ActionButton(choose, "quiet", text="Compare with…", small=True))
        column.setContentsMargins(GRID // 2, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addLayout(row)
        column.addWidget(self._nothing)
        column.addWidget(self.table, 1)
        column.addStretch(0)

    def compare(self, path: Path, plan: Plan) -> None:
        """Compare the open plan with that of another file."""
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
        self.compared_text.setText(
            f"{plural(len(rows), 'field')} not as in {name}" if rows else f"The same as {name}"
        )


def _stored(view: PlanView) -> tuple[str, Plan]:
    name = f"{view.path.name}, its file" if view.path else "the plan that it began as"
    return name, view.stored or view.plan
