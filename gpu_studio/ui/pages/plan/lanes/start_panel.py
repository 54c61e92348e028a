"""What the Layers tab shows of a plan that does not place its layers."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.plan import Plan
from gpu_studio.plan.strategies import title_of
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Label, Paragraph

WORDS = (
    "With layers placed, each layer runs where you put it: forward, backward and update, with its weights. "
    "The layers are first placed, one stretch on each device, for the least time of a step; then drag them as you like."
)


class StartPanel(QWidget):
    """Says which strategy there is, and offers to place the layers: `button`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = Label("", "strong")
        self.button = Button("Use layers placed")
        column = QVBoxLayout(self)
        column.setSpacing(GRID)
        column.addStretch(1)
        for widget in (self.title, Paragraph(WORDS, "muted"), self.button):
            column.addWidget(widget, 0, Qt.AlignmentFlag.AlignLeft if widget is self.button else Qt.AlignmentFlag(0))
        column.addStretch(2)

    def show_plan(self, plan: Plan, why_not: str) -> None:
        """Say what the plan does now; `why_not` is why the layers cannot be placed yet."""
        strategy = title_of(plan.distribution.strategy)
        self.title.setText(f"This plan does not place its layers: its strategy is {strategy}.")
        self.button.setEnabled(not why_not)
        self.button.setToolTip(why_not or "One undo takes it back")
