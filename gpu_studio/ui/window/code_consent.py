"""Ask the user whether their Python may run, and hold what waits for the answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.plan import Plan, PlanError, load
from gpu_studio.runs.own_code import not_allowed
from gpu_studio.ui.window.services import Services

if TYPE_CHECKING:
    from gpu_studio.ui.plan.code_dialogs import AllowDialog


class CodeConsent(QObject):
    """Opens the dialogs.

    Nobody is asked unless he wants to be, or starts something that needs the answer.
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services.window)
        self._theme, self._readiness = services.theme, services.readiness
        self._window = services.window

    def ask(self, path: Path, then: Callable[[], object] | None = None) -> AllowDialog:
        """Ask about the file at `path`; `then` is done once it is allowed."""
        # Imported when somebody is asked: the window's start waits for this module.
        from gpu_studio.ui.plan.code_dialogs import AllowDialog

        dialog = AllowDialog(path, self._theme, self._window)
        dialog.allowed.connect(partial(self._go_on, then))
        dialog.show()
        return dialog

    def ask_about_plan(self) -> None:
        """Ask about each file of the open plan that is not allowed, one after the other."""
        missing = self._readiness.not_allowed
        if missing:
            self.ask(missing[0].path, self.ask_about_plan)

    def obtain(self, plan: Plan, base: Path, then: Callable[[], object]) -> None:
        """Do `then` if all Python that `plan` names is allowed, at once or after having asked about
        each file.
        """
        missing = not_allowed(plan, base)
        if missing:
            self._readiness.look_again()
            self.ask(missing[0], lambda: self.obtain(plan, base, then))
        else:
            then()

    def obtain_for_run(self, run: RunDirectory, then: Callable[[], object]) -> None:
        """The same for the plan of a run; what is wrong with that plan itself, `then` says."""
        try:
            plan = load(run.plan_file)
        except PlanError:
            then()
        else:
            self.obtain(plan, run.path, then)

    def show_allowed(self) -> None:
        """List what is allowed."""
        from gpu_studio.ui.plan.code_dialogs import AllowedDialog

        dialog = AllowedDialog(self._window)
        dialog.changed.connect(self._readiness.look_again)
        dialog.show()

    def _go_on(self, then: Callable[[], object] | None) -> None:
        self._readiness.look_again()
        if then is not None:
            then()
