"""Warnings about a plan, and the edits that remedy a problem or a warning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpu_studio.plan.values import Plan


@dataclass(frozen=True, slots=True)
class Remedy:
    """A remedy that a button offers: `label` is its text (`Use 252`).

    `make` returns the corrected plan.
    """

    label: str
    make: Callable[[Plan], Plan]


@dataclass(frozen=True, slots=True)
class Caution:
    """A warning: the plan can run, but a person should know this.

    `name` identifies the warning across plans; `text` says what it is, `why` what it means. The
    `mend`, if any, returns a plan without it; so do `others`, which are alternatives. One that
    `waits` ends by itself when other programs release what the plan needs.
    """

    name: str
    text: str
    why: str
    mend: Remedy | None = None
    others: tuple[Remedy, ...] = ()
    waits: bool = False

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """Every way out, the best first."""
        return (() if self.mend is None else (self.mend,)) + self.others

    def with_remedies(self, remedies: Sequence[Remedy]) -> Caution:
        """The same with these ways out."""
        return replace(self, mend=remedies[0] if remedies else None, others=tuple(remedies[1:]))


def changing(label: str, part: str, **values: Any) -> Remedy:
    """The remedy that sets fields of a part, such as `training.checkpoint`.

    "" is the plan itself.
    """
    path = part.split(".") if part else []

    def make(plan: Plan) -> Plan:
        changed: Plan = _with(plan, path, values)
        return changed

    return Remedy(label, make)


def _with(part: Any, path: Sequence[str], values: dict[str, Any]) -> Any:
    if not path:
        return replace(part, **values)
    return replace(part, **{path[0]: _with(getattr(part, path[0]), path[1:], values)})
