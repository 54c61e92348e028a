"""The third card of a plan: how the work is spread over the logical devices."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QGridLayout, QWidget

from gpu_studio.plan import Plan
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.labels import Paragraph

STRATEGIES: dict[str, tuple[str, str]] = {
    "none": ("None", "TensorFlow trains on the first logical device, plainly. The one to compare the others with."),
    "one_device": (
        "One device",
        "Everything on one logical device, inside a strategy: as Mirrored, with nothing to share.",
    ),
    "mirrored": ("Mirrored", "A replica on each logical device trains on its part of the batch; all share gradients."),
    "central_storage": ("Central storage", "Variables live in one place, and every logical device computes with them."),
}
"""The strategies that run here: their name on a button, and what each does in a line."""


class DistributionCard(Card):
    """A button for each strategy that runs here; `chosen(strategy)` is the one the person wants."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("3 · Distribution", parent)
        self._group = QButtonGroup(self)
        self.buttons = {name: self._make(name, title) for name, (title, _) in STRATEGIES.items()}
        grid = QGridLayout()
        grid.setSpacing(GRID)
        for place, button in enumerate(self.buttons.values()):
            grid.addWidget(button, place // 2, place % 2)
        self._words = Paragraph(role="muted")
        self.body.addLayout(grid)
        self.body.addWidget(self._words)
        self.body.addStretch(1)

    def show_plan(self, plan: Plan) -> None:
        """Check the plan's strategy and say what it does."""
        strategy = plan.distribution.strategy
        if strategy in self.buttons:
            self.buttons[strategy].setChecked(True)
            self._words.setText(STRATEGIES[strategy][1])
        else:
            self._uncheck()
            self._words.setText(f"The plan names the strategy {strategy}, which is not among these.")

    def _make(self, name: str, title: str) -> Button:
        button = Button(title)
        button.setCheckable(True)
        button.setAccessibleName(f"strategy {title}")
        button.setToolTip(STRATEGIES[name][1])
        button.clicked.connect(lambda: self.chosen.emit(name))
        self._group.addButton(button)
        return button

    def _uncheck(self) -> None:
        # An exclusive group keeps one button checked for good.
        self._group.setExclusive(False)
        for button in self.buttons.values():
            button.setChecked(False)
        self._group.setExclusive(True)
