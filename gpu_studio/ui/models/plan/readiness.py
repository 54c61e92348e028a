"""Whether the open plan can be trained on this machine, and if not, why."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal

from gpu_studio.plan import Machine, Plan, Problem, validate
from gpu_studio.plan.rules.device_rules import allocator
from gpu_studio.runs.sources import ConsentProblem
from gpu_studio.ui.models.devices.inventory import Inventory
from gpu_studio.ui.models.plan.own_code import names_files, problems_of_files
from gpu_studio.ui.models.plan.plan_document import PlanDocument, folder_of
from gpu_studio.ui.units import plural


class Readiness(QObject):
    """Holds the open plan against the machine. `changed` fires after either has changed."""

    changed = Signal()

    def __init__(self, document: PlanDocument, inventory: Inventory, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._inventory = inventory
        self.problems: tuple[Problem, ...] = ()
        self.also: Callable[[Plan, Machine | None], Sequence[Problem]] = _nothing_else
        """What else may be wrong with the plan, as when it goes on with a run."""
        document.changed.connect(self.check)
        inventory.changed.connect(self.check)
        self.check()

    @property
    def machine(self) -> Machine | None:
        """The machine; if it cannot be asked, one with its cores and no cards; None while it is still being asked."""
        if self._inventory.machine is None and self._inventory.error:
            return Machine(cpu_cores=os.cpu_count() or 1, why_no_cards=self._inventory.error)
        return self._inventory.machine

    @property
    def why_not(self) -> str:
        """Why the plan cannot be trained now; empty if it can."""
        if self._document.plan is None or self.machine is None:
            return "Looking at the machine…"
        if self.machine.simulated:
            return "This machine's cards are simulated, so nothing can be trained on them: start without --simulate."
        if self.problems:
            return f"The plan has {plural(len(self.problems), 'problem')}: {self.problems[0]}"
        return ""

    @property
    def not_allowed(self) -> tuple[ConsentProblem, ...]:
        """Those of the problems that are a file of Python which its user has not allowed."""
        return tuple(each for each in self.problems if isinstance(each, ConsentProblem))

    def look_again(self) -> None:
        """See whether the files that the plan names have changed; free where it names none."""
        plan = self._document.plan
        if plan is not None and names_files(plan):
            self.check()

    def check(self) -> None:
        """Look again at everything."""
        plan, machine = self._document.plan, self.machine
        # Without cards known, a plan's cards would only seem missing.
        known = machine if machine is self._inventory.machine else None
        self.problems = ()
        if plan is not None and machine is not None:
            here = (*allocator(plan, os.environ), *problems_of_files(plan, folder_of(self._document.path)))
            self.problems = (*validate(plan, known), *here, *self.also(plan, known))
        self.changed.emit()


def _nothing_else(_plan: Plan, _machine: Machine | None) -> Sequence[Problem]:
    return ()
