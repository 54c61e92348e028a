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
    there is one, gives a plan without it.
    """

    name: str
    text: str
    why: str
    mend: Mend | None = None


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
