"""What the parts of the Plan page are given to show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpu_studio.plan import Machine, Plan, Problem


@dataclass(frozen=True, slots=True)
class PlanView:
    """The open plan on this machine, and its obstacles.

    `base` is where its relative file names start; `stored` is what its file holds or, without a
    file, what it began as; `text` returns the text of its file.
    """

    plan: Plan
    machine: Machine
    problems: tuple[Problem, ...] = ()
    base: Path = Path()
    path: Path | None = None
    stored: Plan | None = None
    text: Callable[[], str] = str

    def problems_at(self, field: str) -> tuple[Problem, ...]:
        """Return the problems of a field and of everything in it.

        Those of `devices.carve` include `devices.carve[0].device`.
        """
        return tuple(each for each in self.problems if _is_within(each.field, field))


def _is_within(field: str, whole: str) -> bool:
    return field == whole or (field.startswith(whole) and field[len(whole)] in ".[")
