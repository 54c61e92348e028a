"""Which tab of the Plan page a problem belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_studio.common.figures import plural
from gpu_studio.plan import Problem
from gpu_studio.plan.problems import Unnamed
from gpu_studio.ui.kit.sentences import sentence

_PARTS = (
    ("devices", "Devices"),
    ("model", "Model"),
    ("data", "Data"),
    ("training", "Training"),
    ("distribution.placed", "Layers"),
    ("distribution", "Strategy"),
)
"""Fields of a plan, and the tab that shows what is in them: the first that fits."""


def part_of(field: str) -> str:
    """Return the name of the tab that shows `field`; empty if none does."""
    found = (
        part
        for whole, part in _PARTS
        if field == whole or field.startswith((f"{whole}.", f"{whole}["))
    )
    return next(found, "")


def mistakes(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return the real errors, without fields that only have to be named still."""
    return tuple(each for each in problems if not isinstance(each, Unnamed))


def problems_of_parts(problems: Sequence[Problem]) -> dict[str, str]:
    """Return the problem of each tab that has one, or the number of its problems."""
    found: dict[str, list[Problem]] = {}
    for problem in mistakes(problems):
        found.setdefault(part_of(problem.field), []).append(problem)
    return {part: _in_words(each) for part, each in found.items()}


def _in_words(problems: Sequence[Problem]) -> str:
    return sentence(str(problems[0])) if len(problems) == 1 else plural(len(problems), "problem")
