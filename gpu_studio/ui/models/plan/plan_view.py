"""What the parts of the Plan page are shown, and what they say back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpu_studio.plan import Machine, Plan, Problem


@dataclass(frozen=True, slots=True)
class PlanView:
    """The open plan on this machine, and what stands in its way.

    `base` is where its relative file names start; `stored` is what its file holds, or what it began as without one;
    `text` gives the text of its file.
    """

    plan: Plan
    machine: Machine
    problems: tuple[Problem, ...] = ()
    base: Path = Path()
    path: Path | None = None
    stored: Plan | None = None
    text: Callable[[], str] = str

    def problems_at(self, field: str) -> tuple[Problem, ...]:
        """The problems of a field and of all that is in it: of `devices.carve`, those of `devices.carve[0].device`."""
        return tuple(each for each in self.problems if _is_within(each.field, field))


@dataclass(frozen=True, slots=True)
class Change:
    """An edit that a part of the page wants: `make` gives the changed plan, `text` is what undo calls it.

    Changes with the same `field`, one after the other, become one undo step; an empty `field` never does. `written` is
    the plan file's text, where a person wrote the change in it.
    """

    make: Callable[[Plan], Plan]
    text: str
    field: str = ""
    written: str | None = None


def _is_within(field: str, whole: str) -> bool:
    return field == whole or (field.startswith(whole) and field[len(whole)] in ".[")
