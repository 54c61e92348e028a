"""The options of a strategy of several processes: how many there are, and what after a loss.

And, where a scheduler starts them, what that is asked for.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QWidget

from gpu_studio.common.figures import plural
from gpu_studio.plan import Cluster, Problem, Strategy, cluster_of, in_all, replicas, strategy_of
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.cluster import set_cluster
from gpu_studio.plan.options import CLUSTER_LIMITS
from gpu_studio.ui.kit import GRID, Paragraph, ThemeManager
from gpu_studio.ui.kit.fields import Choice, Switch, WholeNumber
from gpu_studio.ui.plan.form.tab_order import follow_layout
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.scheduler_form import SchedulerForm
from gpu_studio.ui.plan.strategy_sections import Section, StrategyAnswers, option_line

STARTS = {"local": "this machine", "slurm": "Slurm", "kubernetes": "Kubernetes"}
NUMBERS = {
    "workers": "workers",
    "servers": "servers",
    "restarts": "restarts after a loss",
    "lost_after": "lost after, seconds",
    "start_within": "all there within, seconds",
    "port": "first port, or 0 for free ones",
}
UPDATES = {"async": "each on its own", "sync": "all together"}
OF_SERVERS = ("servers", "updates")
"""What only a strategy with servers has."""
OF_EQUALS = ("start", "with_fewer")
"""What only a strategy has whose workers are equals."""
ELSEWHERE = {
    "slurm": (
        "Train submits a job of Slurm, and the run follows it: why it waits, and where it trains. "
        "The folder of runs must be the same on the nodes as here."
    ),
    "kubernetes": ("No run starts workers in Kubernetes: gpu-studio export writes the manifest."),
}


class ClusterOptions(Section):
    """Workers, what starts them, and what happens when one is lost."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("cluster", "cluster", theme, parent)
        self.start = Choice("what starts the workers", tuple(STARTS), words=STARTS)
        self.numbers = {name: _number(name) for name in NUMBERS}
        self.updates = Choice("how workers update variables", tuple(UPDATES), words=UPDATES)
        self.updates.setMinimumWidth(20 * GRID)
        self.with_fewer = Switch("go on with fewer", on="with fewer", off="with all")
        self.trusted = Switch("trusted network", on="trusted", off="not trusted")
        self.with_fewer.set_tip(
            "After a loss start again without the lost worker: slower, to the same losses"
        )
        self.updates.set_tip(
            "Each on its own: as soon as it has gradients. All together: once a step, to the "
            "losses of one device"
        )
        self.trusted.set_tip(
            "TensorFlow's ports ask for no password: whoever reaches one can run programs as you. "
            "Only behind a firewall"
        )
        self.note = Paragraph(role="caption")
        fields: dict[str, tuple[str, QWidget]] = {"start": ("started by", self.start)}
        fields |= {name: (words, self.numbers[name]) for name, words in NUMBERS.items()}
        fields |= {
            "updates": ("updates", self.updates),
            "with_fewer": ("after a loss", self.with_fewer),
            "trusted_network": ("network", self.trusted),
        }
        self.lines = {name: _line(*field) for name, field in fields.items()}
        for line in self.lines.values():
            self.column.addWidget(line)
        self.column.addWidget(self.note)
        self.forms: dict[str, SchedulerForm] = {}
        self.start.edited.connect(lambda value: self._change("start", value))
        self.updates.edited.connect(lambda value: self._change("updates", value))
        self.with_fewer.edited.connect(lambda value: self._change("with_fewer", value))
        self.trusted.edited.connect(lambda value: self._change("trusted_network", value))
        for name, number in self.numbers.items():
            number.edited.connect(lambda value, name=name: self._change(name, value))

    def is_used_by(self, strategy: Strategy) -> bool:
        """Whether the strategy has it."""
        return strategy.clusters

    def show_option(self, view: PlanView, known: StrategyAnswers) -> None:
        """Show the plan's cluster."""
        del known
        part = cluster_of(view.plan) or Cluster()
        serves = strategy_of(view.plan).serves
        for name, line in self.lines.items():
            line.setVisible(name not in (OF_EQUALS if serves else OF_SERVERS))
        self.lines["start"].setVisible(not serves or part.start != "local")
        self.lines["with_fewer"].setVisible(not serves or part.with_fewer)
        self.caption.setText(_in_all(view, part, serves=serves))
        self.updates.show_value(part.updates)
        self.start.show_value(part.start)
        for name, number in self.numbers.items():
            number.show_value(getattr(part, name))
        self.with_fewer.show_value(part.with_fewer)
        self.trusted.show_value(part.trusted_network)
        self.note.setText(ELSEWHERE.get(part.start, ""))
        self.note.setVisible(bool(self.note.text()))
        self._show_form(part.start, view)

    def problems_in(self, view: PlanView) -> tuple[Problem, ...]:
        """All but those that stand in the rows of the scheduler's form."""
        start = (cluster_of(view.plan) or Cluster()).start
        rows = view.problems_at(f"cluster.{start}") if start in ELSEWHERE else ()
        return tuple(each for each in super().problems_in(view) if each not in rows)

    def _show_form(self, start: str, view: PlanView) -> None:
        if start in ELSEWHERE and start not in self.forms:
            form = self.forms[start] = SchedulerForm(start)
            form.edited.connect(self.edited)
            form.column.setContentsMargins(0, GRID, 0, 0)
            self.column.addWidget(form)
            follow_layout(self)
        for name, form in self.forms.items():
            form.setVisible(name == start)
            if name == start:
                form.show_view(view)

    def _change(self, name: str, value: Any) -> None:
        text = f"change {name.replace('_', ' ')}"
        change = Change(lambda plan: set_cluster(plan, **{name: value}), text, f"cluster.{name}")
        self.edited.emit(change)


def _in_all(view: PlanView, part: Cluster, *, serves: bool) -> str:
    if serves:
        return f"{plural(part.processes, 'process', 'processes')} in all, one of them the chief"
    names = replicas(view.plan, view.machine)
    return f"{plural(in_all(view.plan, names), 'replica')} in all"


def _line(words: str, field: QWidget) -> QWidget:
    line, row = QWidget(), option_line(words, field)
    row.setContentsMargins(0, 0, 0, 0)
    line.setLayout(row)
    return line


def _number(name: str) -> WholeNumber:
    limit = next(each for each in CLUSTER_LIMITS if each.name == name)
    field = WholeNumber(NUMBERS[name], int(limit.least), int(limit.most))
    field.setMinimumWidth(12 * GRID)
    return field
