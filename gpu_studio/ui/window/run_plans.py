"""Open the plan of a run again.

It may be to resume the run differently, to train it changed, or with a remedy applied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from gpu_studio import plan as plans
from gpu_studio.contract.directory import RunDirectory
from gpu_studio.plan import Plan, PlanError
from gpu_studio.plan.relocation import with_absolute_files
from gpu_studio.ui.plan.plan_document import folder_of
from gpu_studio.ui.window.pages import Pages
from gpu_studio.ui.window.plan_files import PlanFiles
from gpu_studio.ui.window.services import Services

if TYPE_CHECKING:
    from gpu_studio.contract.event_parts import SuggestedChange
    from gpu_studio.contract.inheritance import Resume


class RunPlans(QObject):
    """Handlers of the actions that open a run's plan.

    They are about the run that is shown, or else selected.
    """

    def __init__(self, services: Services, pages: Pages, plan_files: PlanFiles) -> None:
        super().__init__(services.window)
        self._services, self._pages, self._plan_files = services, pages, plan_files

    @property
    def run(self) -> RunDirectory | None:
        """On the Train page the run that is shown, elsewhere the one that is selected on the Runs
        page.
        """
        shown = self._pages.shown_run
        if shown is not None and self._pages.current == "train":
            return shown.run
        selected = self._pages.runs.selected
        return selected.directory if selected else None

    def resume_with_changes(
        self, run: RunDirectory | None = None, checkpoint: str | None = None
    ) -> None:
        """Open a run's plan, to go on with the run from a checkpoint (the newest) once the plan is
        changed.
        """
        from gpu_studio.runs.resume import ResumeError, choose

        run = run or self.run
        if run is None:
            return
        try:
            target = choose(run, checkpoint)
        except ResumeError as error:
            self._services.notice.say(str(error), "warning")
        else:
            self._take(
                run, lambda plan: plan, lambda plan: self._services.resuming.begin(target, plan)
            )

    def duplicate(self, run: RunDirectory | None = None) -> None:
        """Open a run's plan as a new one, and show how it differs from the run's."""
        run = run or self.run
        if run is not None:
            self._take(run, _renamed, lambda _: self._compare(run))

    def open_changed(self, run: RunDirectory, mend: SuggestedChange) -> None:
        """Open a run's plan, and make the change that may help it as a step that can be undone.

        Where the run has a checkpoint from which it can go on with that change, it will.
        """

        def change(plan: Plan) -> None:
            mended = plans.with_value(plan, mend.field, mend.value)
            self._services.document.replace(mended, f"{mend.text[:1].lower()}{mend.text[1:]}")
            if (target := self._to_go_on_from(run, plan, mended)) is not None:
                self._services.resuming.begin(target, plan)

        self._take(run, lambda plan: plan, change)

    def open_part(self, part: str) -> None:
        """Show the tab of a part of the run's plan, `model` or `data`.

        The open plan's, where that is the same plan.
        """
        run = self.run
        if run is None:
            return
        document = self._services.document
        here = document.plan and with_absolute_files(document.plan, folder_of(document.path))
        if run.exists() and here == _plan_of(run):
            self._show_part(part)
        else:
            self._take(run, lambda plan: plan, lambda _: self._show_part(part))

    def _show_part(self, part: str) -> None:
        self._pages.turn_to("plan")
        self._pages.plan.open_part(part.capitalize())

    def _to_go_on_from(self, run: RunDirectory, plan: Plan, changed: Plan) -> Resume | None:
        from gpu_studio.runs.resume import ResumeError, choose, problems_of

        try:
            target = choose(run)
        except ResumeError:
            return None
        return (
            None if problems_of(target, plan, changed, self._services.inventory.machine) else target
        )

    def _take(
        self, run: RunDirectory, make: Callable[[Plan], Plan], then: Callable[[Plan], object]
    ) -> None:
        try:
            plan = make(plans.load(run.plan_file))
        except PlanError as error:
            self._services.notice.say(str(error), "bad")
        else:
            self._plan_files.take(plan, lambda: then(plan))

    def _compare(self, run: RunDirectory) -> None:
        self._pages.plan.compare(Path(run.id), plans.load(run.plan_file))


def _plan_of(run: RunDirectory) -> Plan | None:
    try:
        return plans.load(run.plan_file)
    except PlanError:
        return None


def _renamed(plan: Plan) -> Plan:
    return replace(plan, name=next_name(plan.name))


def next_name(name: str) -> str:
    """What a second plan called `name` is called: `digits (2)`, and of that `digits (3)`."""
    stem, bracket, number = name.rpartition(" (")
    if bracket and number.endswith(")") and number[:-1].isdecimal():
        return f"{stem} ({int(number[:-1]) + 1})"
    return f"{name} (2)"
