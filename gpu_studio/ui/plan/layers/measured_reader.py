"""Find the measured step of a run of the plan that is shown, in the background."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gpu_studio.plan import Plan
from gpu_studio.runs.results.measured_steps import MeasuredStep, MeasuredSteps
from gpu_studio.ui.kit.task import BackgroundTask


class MeasuredReader(QObject):
    """`known` is the step of the newest run that trained as the followed plan would.

    `changed` fires when `known` becomes another step. Without a directory of `runs` there is none.
    """

    changed = Signal()

    def __init__(self, runs: Path | None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.known: MeasuredStep | None = None
        self._steps = MeasuredSteps(runs) if runs else None
        self._asked: tuple[Plan, Path] | None = None
        self._task = BackgroundTask("measured steps", self)
        self._task.done.connect(self._tell)

    def follow(self, plan: Plan | None, base: Path) -> None:
        """Follow the step of this plan from now on; None follows none."""
        asked = None if plan is None else (plan, base)
        if asked != self._asked:
            self._asked = asked
            self._tell(None)
            self.look()

    def look(self) -> None:
        """Look again: a run may have reported its step meanwhile."""
        steps, asked = self._steps, self._asked
        if steps is None or asked is None:
            self._task.forget()
        else:
            self._task.start(lambda: _newest(steps, *asked))

    def close(self) -> None:
        """Stop the thread."""
        self._task.close()

    def _tell(self, known: MeasuredStep | None) -> None:
        if known != self.known:
            self.known = known
            self.changed.emit()


def _newest(steps: MeasuredSteps, plan: Plan, base: Path) -> MeasuredStep | None:
    """The measured step of the newest run of this plan.

    None if there is none, or it cannot be read.
    """
    try:
        return steps.newest(plan, base)
    except OSError:
        return None
