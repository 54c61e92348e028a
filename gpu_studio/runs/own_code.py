"""The user's Python code that a plan names and that is not allowed as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gpu_studio.contract.consent import Standing, allowances
from gpu_studio.plan import Plan, Problem
from gpu_studio.plan.problems import listed
from gpu_studio.plan.references import reference
from gpu_studio.plan.relocation import absolute
from gpu_studio.runs.sources import ConsentProblem, consent_needed, file_problems


def names_files(plan: Plan) -> bool:
    """Whether the plan needs files or folders."""
    return any(
        (plan.model.file, plan.data.file, plan.data.folder, plan.model.python, plan.data.python)
    )


def not_allowed(plan: Plan, base: Path) -> tuple[Path, ...]:
    """The files of `plan` that may not run as they are; relative ones are taken from `base`."""
    return tuple(path for path, _ in consent_needed(plan, base))


def code_of(plan: Plan, part: str, base: Path) -> Path | None:
    """The Python file of the `model` or the `data`, relative to `base`; None for other sources."""
    named = reference((plan.model if part == "model" else plan.data).python or "")
    return absolute(named.file, base) if named else None


def not_looked_into(paths: Sequence[Path]) -> str:
    """Why a plan was not examined: `not looked into: models.py is not allowed yet`."""
    names = listed(path.name for path in paths)
    return f"not looked into: {names} {'is' if len(paths) == 1 else 'are'} not allowed yet"


def problems_of_files(plan: Plan, base: Path) -> list[Problem]:
    """Problems with the files that the plan names, worded for the window."""
    return [_in_the_window(problem) for problem in file_problems(plan, base)]


def _in_the_window(problem: Problem) -> Problem:
    """The same problem without the command line for allowing a file, as a button is beside it."""
    if not isinstance(problem, ConsentProblem):
        return problem
    name = problem.path.name
    new = problem.standing is Standing.NEW
    why = (
        f"nothing of {name} has been run yet" if new else f"{name} has changed since it was allowed"
    )
    words = allowances().problem or f"{why}, and it may do whatever you may: read it, then allow it"
    return replace(problem, advice=words)
