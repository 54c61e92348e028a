"""What will happen: the logical devices and their share of the work, or what stands in the way."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLayout, QScrollArea, QVBoxLayout, QWidget

from gpu_studio.plan import Machine, Plan, Problem
from gpu_studio.ui.models.outlook import Prospect, facts, prospects
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.labels import Elided, Label, Paragraph
from gpu_studio.ui.widgets.status_line import Dot


class OutlookCard(Card):
    """Rebuilt at each change of the plan: it is small, and has nothing in it that takes the focus."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("What will happen", parent)
        self._theme = theme
        self._area = QScrollArea()
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._area.setAccessibleName("what will happen")
        self.body.addWidget(self._area, 1)

    def show_plan(self, plan: Plan, machine: Machine, problems: Sequence[Problem]) -> None:
        """Show the problems if there are any, else what the plan will do on the machine."""
        inside = QWidget()
        inside.setObjectName("plain")
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID)
        if problems:
            self._add_problems(column, problems)
        else:
            column.addLayout(_facts(facts(plan, machine)))
            column.addSpacing(GRID)
            for prospect in prospects(plan, machine):
                column.addLayout(self._device(prospect))
        column.addStretch(1)
        self._area.setWidget(inside)
        self._area.setAccessibleDescription("; ".join(str(problem) for problem in problems))

    def _device(self, prospect: Prospect) -> QLayout:
        dot = Dot(self._theme, self._theme.tokens.device_colour(prospect.place))
        row = QHBoxLayout()
        row.setSpacing(GRID)
        row.addWidget(dot)
        row.addWidget(Label(prospect.name, "mono"))
        row.addWidget(Elided(prospect.limit, "caption"))
        row.addStretch(1)
        row.addWidget(Label(prospect.share, "text" if prospect.replica else "muted"))
        return row

    def _add_problems(self, column: QVBoxLayout, problems: Sequence[Problem]) -> None:
        count = len(problems)
        column.addWidget(Paragraph(f"{'One thing stands' if count == 1 else f'{count} things stand'} in the way."))
        for problem in problems:
            column.addWidget(problem_view(problem))


def problem_view(problem: Problem) -> QFrame:
    """A problem: the field, what stands there, what to do."""
    frame = QFrame()
    frame.setObjectName("notice")
    frame.setProperty("tone", "warning")
    frame.setAccessibleName(str(problem))
    column = QVBoxLayout(frame)
    column.setContentsMargins(GRID + 4, GRID, GRID + 4, GRID)
    column.setSpacing(2)
    column.addWidget(Paragraph(problem.field, "mono"))
    column.addWidget(Paragraph(f"is {problem.received}", "caption"))
    column.addWidget(Paragraph(problem.advice))
    return frame


def _facts(rows: Sequence[tuple[str, str]]) -> QGridLayout:
    grid = QGridLayout()
    grid.setVerticalSpacing(GRID)
    for place, (name, value) in enumerate(rows):
        grid.addWidget(Label(name, "muted"), place, 0)
        grid.addWidget(Label(value, "strong"), place, 1, Qt.AlignmentFlag.AlignRight)
    return grid
