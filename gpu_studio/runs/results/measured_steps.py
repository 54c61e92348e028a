"""Find a measured step for a plan: runs that trained alike, and what their profiler saw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from gpu_studio.contract import RunDirectory, Timeline
from gpu_studio.contract.user_files import code_files
from gpu_studio.plan import (
    AbsolutePlan,
    CheckpointSettings,
    PlanError,
    Training,
)
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.labels import title_of
from gpu_studio.runs.reading.event_file import first_of

MOST_RUNS: Final = 200
"""So many of the newest runs are looked through."""


@dataclass(frozen=True, slots=True)
class MeasuredStep:
    """A step that was measured in a run, of this `title`."""

    title: str
    timeline: Timeline


class MeasuredSteps:
    """The runs of a directory, by what their steps depend on.

    A run's plan is read once: it never changes.
    """

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._plans: dict[Path, AbsolutePlan | None] = {}

    def newest(self, plan: AbsolutePlan) -> MeasuredStep | None:
        """The measured step of the newest run that trains like `plan`.

        Such a run has the same model, data, devices, batch, optimizer and placement. None if no
        such run has measured a step. Raises OSError if the directory cannot be read.
        """
        for run in self.alike(plan):
            timeline = _timeline(run)
            if timeline is not None:
                return MeasuredStep(title_of(run), timeline)
        return None

    def alike(self, plan: AbsolutePlan) -> Iterator[RunDirectory]:
        """The runs that train like `plan`, the newest first.

        Raises OSError if the directory cannot be read.
        """
        wanted = what_a_step_depends_on(plan)
        for run in directories(self._runs)[:MOST_RUNS]:
            if self._plan_of(run) == wanted and not _changed_since(run, wanted):
                yield run

    def _plan_of(self, run: RunDirectory) -> AbsolutePlan | None:
        if run.path not in self._plans:
            try:
                self._plans[run.path] = what_a_step_depends_on(run.load_plan())
            except PlanError:
                self._plans[run.path] = None
        return self._plans[run.path]


def what_a_step_depends_on(plan: AbsolutePlan) -> AbsolutePlan:
    """The plan without what does not affect a step: its name, length and order of training."""
    usual = Training()
    training = replace(
        plan.training,
        epochs=usual.epochs,
        learning_rate=usual.learning_rate,
        schedule=None,
        seed=usual.seed,
        steps_per_call=usual.steps_per_call,
        early_stopping=None,
        checkpoint=CheckpointSettings(),
    )
    return replace(plan, name="", training=training)


def _changed_since(run: RunDirectory, plan: AbsolutePlan) -> bool:
    """Whether a file that defines the model or the data changed after the run began, or is gone."""
    named = filter(None, (plan.model.file, plan.model.weights))
    files = [*code_files(plan), *map(Path, named)]
    try:
        return any(file.stat().st_mtime > run.plan_file.stat().st_mtime for file in files)
    except OSError:
        return True


def _timeline(run: RunDirectory) -> Timeline | None:
    try:
        return first_of(run, Timeline)
    except OSError:
        return None
