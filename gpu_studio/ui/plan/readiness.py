"""Whether the open plan can be trained on this machine and, if not, why."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal

from gpu_studio.common.figures import plural
from gpu_studio.placement.known_problems import known_problems
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan import AbsolutePlan, Machine, Plan, Problem, validate
from gpu_studio.plan.rules.device_rules import allocator
from gpu_studio.runs.sources import ConsentProblem, names_files, problems_of_files
from gpu_studio.ui.machine.live_machine import Inventory, LiveMachine
from gpu_studio.ui.plan.plan_document import PlanDocument
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.plan.plan_view import mistakes


class Readiness(QObject):
    """Checks the open plan against the machine, and against what is known of its data and model.

    `problems` is the single list of its obstacles: every part of the window shows the same.
    `changed` fires after the plan or the machine has changed, and when `facts` bring or settle a
    problem.
    """

    changed = Signal()

    def __init__(
        self,
        document: PlanDocument,
        inventory: Inventory | LiveMachine,
        parent: QObject | None = None,
        *,
        facts: FactsReader | None = None,
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._inventory = inventory
        self._facts = facts
        self.problems: tuple[Problem, ...] = ()
        self._known: PlanFacts | None = None
        self.also: Callable[[Plan, Machine | None], Sequence[Problem]] = _nothing_else
        """What else may be wrong with the plan, as when it goes on with a run."""
        document.changed.connect(self.check)
        inventory.changed.connect(self.check)
        if facts is not None:
            facts.changed.connect(self._hear)
        self.check()

    @property
    def machine(self) -> Machine | None:
        """The machine; None while it is being examined.

        If that fails, it is a machine with this one's cores and no cards.
        """
        if self._inventory.machine is None and self._inventory.error:
            return Machine(cpu_cores=os.cpu_count() or 1, why_no_cards=self._inventory.error)
        return self._inventory.machine

    @property
    def why_not(self) -> str:
        """Why the plan cannot be trained now; empty if it can."""
        if self._document.plan is None or self.machine is None:
            return "Looking at the machine…"
        if self.machine.simulated:
            return (
                "This machine's cards are simulated, so nothing can be trained on them: start "
                "without --simulate."
            )
        if self.problems and not mistakes(self.problems):
            return f"The plan is not complete yet: {self.problems[0]}"
        if self.problems:
            return f"The plan has {plural(len(self.problems), 'problem')}: {self.problems[0]}"
        return ""

    @property
    def not_allowed(self) -> tuple[ConsentProblem, ...]:
        """The problems that are a Python file which its user has not allowed."""
        return tuple(each for each in self.problems if isinstance(each, ConsentProblem))

    def look_again(self) -> None:
        """Check whether the files that the plan names have changed; free if it names none."""
        plan = self._document.plan
        if plan is not None and names_files(plan):
            self.check()

    def check(self) -> None:
        """Check everything again."""
        self.problems = self._found()
        self.changed.emit()

    def _hear(self) -> None:
        """Take in the facts about data and model if they change the obstacles.

        That a question begins or ends changes none, unless it concerns files, which may change.
        """
        absolute = self._document.absolute
        if absolute is None or (
            self._so_far(absolute) is self._known and not names_files(absolute)
        ):
            return
        found = self._found()
        if found != self.problems:
            self.problems = found
            self.changed.emit()

    def _so_far(self, absolute: AbsolutePlan) -> PlanFacts | None:
        return self._facts.facts_so_far(absolute) if self._facts is not None else None

    def _found(self) -> tuple[Problem, ...]:
        plan, absolute, machine = self._document.plan, self._document.absolute, self.machine
        if plan is None or absolute is None or machine is None:
            return ()
        # As long as no cards are known, a plan's cards would only seem missing.
        known = machine if machine is self._inventory.machine else None
        self._known = facts = self._so_far(absolute)
        plan = facts.completed(plan) if facts else plan
        here = (*allocator(plan, os.environ), *problems_of_files(plan, absolute))
        found = (*validate(plan, known), *here, *self.also(plan, known))
        return (*found, *known_problems(plan, facts, found, known)) if facts else found


def _nothing_else(_plan: Plan, _machine: Machine | None) -> Sequence[Problem]:
    return ()
