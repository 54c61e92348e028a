"""A part of the Plan page on any machine: its edits are applied to a plan and shown."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QApplication

from gpu_studio.placement.known_problems import known_problems
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan import Machine, Plan, validate
from gpu_studio.plan.edits.change import Change
from gpu_studio.ui.plan.plan_view import PlanView


class OnMachine:
    """Holds the plan that a part edits on this machine. `changes` are those that it asked for."""

    def __init__(self, part: Any, plan: Plan, machine: Machine) -> None:
        self.part = part
        self.plan = plan
        self.machine = machine
        self.changes: list[Change] = []
        part.edited.connect(self._apply)
        self.show(plan)

    @property
    def texts(self) -> list[str]:
        """What undo calls the changes."""
        return [change.text for change in self.changes]

    def show(self, plan: Plan, facts: PlanFacts | None = None) -> None:
        """Show the part this plan with all its problems, those that the `facts` tell of too."""
        self.plan = plan
        known = known_problems(plan, facts) if facts is not None else ()
        self.part.show_view(PlanView(plan, self.machine, (*validate(plan, self.machine), *known)))
        # Qt shows the new children of a visible widget when it is next at leisure.
        QApplication.processEvents()

    def _apply(self, change: Change) -> None:
        self.changes.append(change)
        self.show(change.make(self.plan))
