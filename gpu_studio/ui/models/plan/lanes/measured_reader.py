"""The measured step of a run of the plan that is shown, looked for beside the window's thread."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gpu_studio.plan import Plan
from gpu_studio.runs.results.measured_steps import MeasuredStep, MeasuredSteps
from gpu_studio.ui.models.plan.lanes.worker import Worker


class MeasuredReader(QObject):
    """`changed` fires when `known` is another: the step of the newest run that trained as the plan followed would.

    Without a directory of `runs` there is none.
    """

    changed = Signal()

    def __init__(self, runs: Path | None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.known: MeasuredStep | None = None
        self._steps = MeasuredSteps(runs) if runs else None
        self._asked: tuple[Plan, Path] | None = None
        self._worker = Worker("measured steps", self)
        self._worker.done.connect(self._take)

    def follow(self, plan: Plan | None, base: Path) -> None:
        """Give the step of this plan from now on; None wants none."""
        asked = None if plan is None else (plan, base)
        if asked != self._asked:
            self._asked = asked
            self._tell(None)
            self.look()

    def look(self) -> None:
        """Look again: a run may have told of its step meanwhile."""
        steps, asked = self._steps, self._asked
        if steps is None or asked is None:
            self._worker.forget()
        else:
            self._worker.start(lambda: steps.newest(*asked))

    def close(self) -> None:
        """Leave no thread behind."""
        self._worker.close()

    def _take(self, result: object) -> None:
        if isinstance(result, OSError):
            self._tell(None)
        elif isinstance(result, Exception):
            raise result
        elif result is None or isinstance(result, MeasuredStep):
            self._tell(result)

    def _tell(self, known: MeasuredStep | None) -> None:
        if known != self.known:
            self.known = known
            self.changed.emit()
