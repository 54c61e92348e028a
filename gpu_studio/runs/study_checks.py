"""What a study would be before anything runs: its runs, what is wrong with it, and about how long.

The time goes by the newest run of the same model and data on this machine, if there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from gpu_studio.contract import Finished
from gpu_studio.lab.study import Point, Study, points_of, sense_of
from gpu_studio.plan import Machine, Plan, PlanError, with_absolute_files
from gpu_studio.runs.catalogue import directories
from gpu_studio.runs.labels import title_of
from gpu_studio.runs.launch import problems_of
from gpu_studio.runs.sources import ConsentProblem
from gpu_studio.runs.state import terminal_event

_LOOKED_AT: Final = 200
_MOST_LISTED: Final = 6


@dataclass(frozen=True, slots=True)
class CheckedStudy:
    """How many points and runs it has, and in words what is wrong with it.

    `seconds` is about how long all runs take, going by the run that is called `like`; None if there
    is none to go by.
    """

    points: int = 0
    runs: int = 0
    problems: tuple[str, ...] = ()
    seconds: float | None = None
    like: str = ""


def checked(
    study: Study, plan: Plan, folder: Path, machine: Machine | None, runs: Path
) -> CheckedStudy:
    """Look at every point with the rules of a plan. Code that is not allowed yet is no problem."""
    if senseless := [str(problem) for problem in sense_of(study)]:
        return CheckedStudy(problems=_short(senseless))
    try:
        points = points_of(study, plan)
    except PlanError as error:
        return CheckedStudy(problems=_short([str(problem) for problem in error.problems]))
    problems = []
    for point in points:
        absolute = with_absolute_files(point.plan, folder)
        found = problems_of(point.plan, absolute, machine)
        problems += [
            f"{point.label}: {each}" for each in found if not isinstance(each, ConsentProblem)
        ]
    count = len(points) * study.repeats
    seconds, like = _estimate(study, points, folder, runs)
    return CheckedStudy(len(points), count, _short(problems), seconds, like)


def _short(problems: Sequence[str]) -> tuple[str, ...]:
    if len(problems) <= _MOST_LISTED:
        return tuple(problems)
    return (*problems[: _MOST_LISTED - 1], f"and {len(problems) - _MOST_LISTED + 1} more")


def _estimate(
    study: Study, points: Sequence[Point], folder: Path, runs: Path
) -> tuple[float | None, str]:
    """The seconds of all runs, by the seconds of an epoch of the newest run that is alike."""
    if not points:
        return None, ""
    wanted = with_absolute_files(points[0].plan, folder)
    for run in islice(directories(runs), _LOOKED_AT):
        ended = terminal_event(run)
        if not isinstance(ended, Finished) or not ended.epoch:
            continue
        with suppress(PlanError):
            plan = run.load_plan()
            if (plan.model.name, plan.model.file, plan.model.python, plan.data) == (
                wanted.model.name, wanted.model.file, wanted.model.python, wanted.data,
            ):  # fmt: skip
                return _as_long(points, ended) * study.repeats, title_of(run)
    return None, ""


def _as_long(points: Sequence[Point], ended: Finished) -> float:
    """The seconds of a run of each point, by the steps or else the epochs of a run that ended."""
    seconds = 0.0
    for training in (point.plan.training for point in points):
        if training.steps_per_epoch and ended.step:
            seconds += training.epochs * training.steps_per_epoch * ended.seconds / ended.step
        else:
            seconds += training.epochs * ended.seconds / ended.epoch
    return seconds
