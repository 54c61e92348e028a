"""The third card of a plan: how the work is spread over the logical devices."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from gpu_studio.plan.strategies import STRATEGY_FACTS, title_of, why_not
from gpu_studio.ui.models.plan.edits.distribution import set_strategy
from gpu_studio.ui.models.plan.plan_view import Change, PlanView
from gpu_studio.ui.models.plan.strategy_words import in_brief
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.choosing.choosable import ChoiceGroup
from gpu_studio.ui.widgets.choosing.tile import Tile
from gpu_studio.ui.widgets.labels import Paragraph

COLUMNS = 4


class DistributionCard(Card):
    """A tile for each strategy, and what the chosen one does. A tile that cannot run here says why when reached."""

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("3 · Distribution", parent)
        self.buttons = {name: _tile(name, theme) for name in STRATEGY_FACTS}
        self.group = ChoiceGroup(self.buttons, COLUMNS, self)
        self.words = Paragraph(role="muted")
        self.brief = Paragraph(role="caption")
        self._view: PlanView | None = None
        self._pointed = ""
        self.group.chosen.connect(self._choose)
        self.group.pointed.connect(self._point)
        grid = QGridLayout()
        grid.setSpacing(GRID)
        for place, button in enumerate(self.buttons.values()):
            grid.addWidget(button, place // COLUMNS, place % COLUMNS)
        self.body.addLayout(grid)
        self.body.addWidget(self.words)
        self.body.addWidget(self.brief)
        self.body.addStretch(1)

    def show_view(self, view: PlanView) -> None:
        """Choose the plan's strategy and say what it does."""
        self._view = view
        for name, button in self.buttons.items():
            button.set_why_not(why_not(name))
        self.group.show_chosen(view.plan.distribution.strategy)
        self.brief.setText(in_brief(view.plan, view.machine))
        self._say()

    def _choose(self, name: str) -> None:
        change = Change(lambda plan: set_strategy(plan, name), f"distribute: {title_of(name).lower()}")
        self.edited.emit(change)

    def _point(self, name: str) -> None:
        self._pointed = name
        self._say()

    def _say(self) -> None:
        if self._view is None:
            return
        chosen = self._view.plan.distribution.strategy
        self.words.setText(in_words(self._pointed if why_not(self._pointed or chosen) and self._pointed else chosen))


def in_words(strategy: str) -> str:
    """What a strategy does, in a line; why it cannot run here, if it cannot."""
    if strategy not in STRATEGY_FACTS:
        return f"The plan names the strategy {strategy}, which is not among these."
    reason = why_not(strategy)
    return f"{title_of(strategy)}: {reason[0].lower()}{reason[1:]}" if reason else STRATEGY_FACTS[strategy].line


def _tile(name: str, theme: ThemeManager) -> Tile:
    facts = STRATEGY_FACTS[name]
    tile = Tile(facts.button, f"strategy {facts.title}", theme)
    tile.setToolTip(" ".join(each for each in (facts.line, why_not(name)) if each))
    tile.setAccessibleDescription(tile.toolTip())
    return tile
