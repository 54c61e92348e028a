"""The Strategy card: how the work is distributed over the logical devices."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.plan import (
    Machine,
    Placed,
    Plan,
    Strategy,
    cluster_of,
    effective,
    in_all,
    parameter_home,
    replicas,
    strategy_named,
    strategy_of,
)
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.distribution import set_strategy
from gpu_studio.plan.strategies import BY_NAME
from gpu_studio.ui.kit import (
    GRID,
    GUIDE_PLACE,
    CardFrame,
    ChoiceGroup,
    Paragraph,
    ThemeManager,
    Tile,
)
from gpu_studio.ui.plan.plan_view import PlanView

COLUMNS = 4


class DistributionCard(CardFrame):
    """A tile for each strategy, and what the chosen one does.

    A tile of a strategy that cannot run here says why when it is focused.
    """

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("3 · Distribution", parent)
        self.buttons = {name: _tile(name, theme) for name in BY_NAME}
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
            button.set_why_not(BY_NAME[name].why_not)
        self.group.show_chosen(view.plan.distribution.strategy)
        self.brief.setText(in_brief(view.of_known_layers, view.machine))
        self._say()

    def _choose(self, name: str) -> None:
        change = Change(
            lambda plan: set_strategy(plan, name),
            f"distribute: {strategy_named(name).title.lower()}",
        )
        self.edited.emit(change)

    def _point(self, name: str) -> None:
        self._pointed = name
        self._say()

    def _say(self) -> None:
        if self._view is None:
            return
        chosen = self._view.plan.distribution.strategy
        refused = strategy_named(self._pointed).why_not if self._pointed else ""
        self.words.setText(in_words(self._pointed if refused else chosen))


def in_words(strategy: str) -> str:
    """Say what a strategy does, in a line, or why it cannot run here."""
    if strategy not in BY_NAME:
        return f"The plan names the strategy {strategy}, which is not among these."
    known = BY_NAME[strategy]
    return (
        f"{known.title}: {known.why_not[0].lower()}{known.why_not[1:]}"
        if known.why_not
        else known.line
    )


def _tile(name: str, theme: ThemeManager) -> Tile:
    facts = BY_NAME[name]
    tile = Tile(facts.button, f"strategy {facts.title}", theme)
    tile.setToolTip(" ".join(each for each in (facts.line, facts.why_not) if each))
    tile.setAccessibleDescription(tile.toolTip())
    tile.setProperty(GUIDE_PLACE, f"built-ins#strategy-{name}")
    return tile


def in_brief(plan: Plan, machine: Machine) -> str:
    """Return the pace, the replicas and the all-reduce.

    `synchronous · 8 replicas · gradients by nccl`.

    Empty for a strategy that cannot run here: none of it would happen.
    """
    strategy = strategy_of(plan)
    if strategy.why_not:
        return ""
    cluster = cluster_of(plan)
    if cluster is not None and strategy.serves:
        pace = strategy.pace if cluster.updates == "async" else "synchronous"
        many = plural(cluster.workers, "worker"), plural(cluster.servers, "server")
        return " · ".join([pace, *many])
    return " · ".join([strategy.pace, *_where(plan, machine, strategy)])


def _where(plan: Plan, machine: Machine, strategy: Strategy) -> list[str]:
    names = replicas(plan, machine)
    count = plural(len(names), "replica")
    if strategy.places_layers:
        part = plan.distribution.placed or Placed()
        cut = "whole batches" if part.micro_batches == 1 else f"{part.micro_batches} micro-batches"
        return [plural(len(part.layers), "layer") + " placed", cut]
    if strategy.sums_gradients:
        cluster, way = cluster_of(plan), effective(plan, machine).replace("_", " ")
        if cluster is not None:
            count = f"{plural(cluster.workers, 'worker')}, {plural(in_all(plan, names), 'replica')}"
        return [count, f"gradients by {way}"]
    if home := parameter_home(plan, machine):
        return [count, f"variables on {home}"]
    return [f"on {name}" for name in names]
