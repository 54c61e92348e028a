"""A change that mends something, and the warnings that come with one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpu_studio.plan.values import Plan


@dataclass(frozen=True, slots=True)
class Mend:
    """What a button offers: `label` is on it (`Use 252`); `make` gives the mended plan."""

    label: str
    make: Callable[[Plan], Plan]


@dataclass(frozen=True, slots=True)
class Caution:
    """Something that a plan can run with, and that a person should know.

    `name` says which warning it is, the same from plan to plan; `text` what it is, `why` what it means. The `mend`, if
    there is one, gives a plan without it; so do `others`, the further ways out. One that `waits` ends by itself, once
    others have ended who hold what the plan needs.
    """

    name: str
    text: str
    why: str
    mend: Mend | None = None
    others: tuple[Mend, ...] = ()
    waits: bool = False

    @property
    def ways(self) -> tuple[Mend, ...]:
        """Every way out, the best first."""
        return (() if self.mend is None else (self.mend,)) + self.others

    def with_ways(self, ways: Sequence[Mend]) -> Caution:
        """The same with these ways out."""
        return replace(self, mend=ways[0] if ways else None, others=tuple(ways[1:]))


def changing(label: str, part: str, **values: Any) -> Mend:
    """The mend that sets fields of a part, such as `training.checkpoint`; the part "" is the plan itself."""
    path = part.split(".") if part else []

    def make(plan: Plan) -> Plan:
        changed: Plan = _with(plan, path, values)
        return changed

    return Mend(label, make)


def _with(part: Any, path: Sequence[str], values: dict[str, Any]) -> Any:
    if not path:
        return replace(part, **values)
    return replace(part, **{path[0]: _with(getattr(part, path[0]), path[1:], values)})
