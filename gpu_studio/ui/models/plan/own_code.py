"""The Python of a user's own that a plan names, and that may not be run as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gpu_studio.plan import Plan, Problem
from gpu_studio.plan.problems import listed
from gpu_studio.plan.references import reference
from gpu_studio.runs.consent import Standing, allowances
from gpu_studio.runs.relocation import absolute
from gpu_studio.runs.sources import ConsentProblem, consent_needed, file_problems


def names_files(plan: Plan) -> bool:
    """Whether there are files or folders, outside of the plan, that it needs."""
    return any((plan.model.file, plan.data.file, plan.data.folder, plan.model.python, plan.data.python))


def not_allowed(plan: Plan, base: Path) -> tuple[Path, ...]:
    """The files of `plan` that may not be run as they are now; relative ones start at `base`."""
    return tuple(path for path, _ in consent_needed(plan, base))


def code_of(plan: Plan, part: str, base: Path) -> Path | None:
    """The Python file of the `model` or the `data`, relative to `base`; None where they come from elsewhere."""
    named = reference((plan.model if part == "model" else plan.data).python or "")
    return absolute(named.file, base) if named else None


def not_looked_into(paths: Sequence[Path]) -> str:
    """Why nothing is known of a plan: `not looked into: models.py is not allowed yet`."""
    names = listed(path.name for path in paths)
    return f"not looked into: {names} {'is' if len(paths) == 1 else 'are'} not allowed yet"


def problems_of_files(plan: Plan, base: Path) -> list[Problem]:
    """What is wrong with the files that the plan names, as the window says it."""
    return [_in_the_window(problem) for problem in file_problems(plan, base)]


def _in_the_window(problem: Problem) -> Problem:
    """The same problem; where a file is not allowed, without the command line, as a button stands beside it."""
    if not isinstance(problem, ConsentProblem):
        return problem
    name = problem.path.name
    new = problem.standing is Standing.NEW
    why = f"nothing of {name} has been run yet" if new else f"{name} has changed since it was allowed"
    words = allowances().problem or f"{why}, and it may do whatever you may: read it, then allow it"
    return replace(problem, advice=words)
