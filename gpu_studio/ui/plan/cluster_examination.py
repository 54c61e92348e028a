"""The machines of a cluster plan, examined in the background while the plan is open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from gpu_studio.hardware.doctor.findings import Finding, State
from gpu_studio.plan import AbsolutePlan, cluster_of
from gpu_studio.runs.paths import runs_dir
from gpu_studio.ui.kit import BackgroundTask
from gpu_studio.ui.plan.concerns import PlanConcern

KEY = "cluster"


class ClusterExamination(QObject):
    """Examines what a plan's workers need; `changed` says that `findings` are others.

    The same is examined once, until somebody asks to look `again`.
    """

    changed = Signal()

    def __init__(self, runs: Path | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.findings: tuple[Finding, ...] = ()
        self._runs = runs
        self._plan: AbsolutePlan | None = None
        self._examined: Any = None
        self._task = BackgroundTask("examination", self)
        self._task.done.connect(self._take)

    def follow(self, plan: AbsolutePlan | None) -> None:
        """Examine what this plan needs, if it is several processes and anything of that is new."""
        self._plan = plan
        cluster = cluster_of(plan) if plan is not None else None
        if plan is None or cluster is None:
            self._examined = None
            self._task.forget()
            self._take(())
            return
        needed = cluster, plan.model, plan.data, plan.training.callbacks
        if needed != self._examined:
            self._examined = needed
            self._start(plan)

    def again(self) -> None:
        """Examine once more what was examined last."""
        if self._plan is not None and self._examined is not None:
            self._start(self._plan)

    def concerns(self, state: State) -> tuple[PlanConcern, ...]:
        """The findings of this state; what must be mended can be looked at again."""
        return tuple(self._concerns(state))

    @property
    def is_well(self) -> bool:
        """Whether it has been examined, and nothing was found amiss."""
        return bool(self.findings) and all(each.state == "good" for each in self.findings)

    def _concerns(self, state: State) -> Iterator[PlanConcern]:
        for place, each in enumerate(self.findings):
            if each.state == state:
                key, why = f"{KEY} {each.check} {place}", " ".join(each.mend)
                yield PlanConcern(key, each.shown, why, refused=state == "bad")

    def _start(self, plan: AbsolutePlan) -> None:
        folder = runs_dir(self._runs)
        self._task.start(lambda: _examined(plan, folder))

    def _take(self, findings: tuple[Finding, ...]) -> None:
        if findings != self.findings:
            self.findings = findings
            self.changed.emit()


def _examined(plan: AbsolutePlan, runs: Path) -> tuple[Finding, ...]:
    # Imported where it is needed: few plans have a cluster, and the window's start waits for it.
    from gpu_studio.contract import plain_slug
    from gpu_studio.export.jobs.sbatch import sbatch
    from gpu_studio.hosts.examination import examined, needs_slurm

    script = sbatch(plan, plain_slug(plan.name)) if needs_slurm(plan) else ""
    return tuple(examined(plan, runs, script))
