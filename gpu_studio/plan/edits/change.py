"""An edit of a plan that a person requested, and the value at a path in a plan.

A path is written as in a plan file: `training.metrics[0].options`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpu_studio.plan import Plan


@dataclass(frozen=True, slots=True)
class Change:
    """A requested edit: `make` returns the changed plan, `text` is its name in undo.

    Successive changes of the same `field` become one undo step; those with an empty `field` do not.
    `written` is the plan file's text if a person edited it as text, `half_typed` such a text if it
    is no plan yet: it changes nothing.
    """

    make: Callable[[Plan], Plan]
    text: str
    field: str = ""
    written: str | None = None
    half_typed: str | None = None


_STEP = re.compile(r"([a-z_]+)(?:\[(\d+)\])?")


def value_at(plan: Plan, path: str) -> Any:
    """The value at the path; None inside a part that the plan lacks.

    Raises AttributeError for a bad path.
    """
    value: Any = plan
    for step in path.split("."):
        if value is None:
            return None
        name, index = _parsed(step)
        value = getattr(value, name)
        if index is not None:
            value = value[index] if index < len(value) else None
    return value


def with_value(plan: Plan, path: str, value: Any) -> Plan:
    """The plan with `value` at the path.

    Unchanged if the part that contains it no longer exists.
    """
    changed: Plan = _with(plan, path, value)
    return changed


def with_option(plan: Plan, path: str, key: str, value: Any) -> Plan:
    """The plan with an option in the table at `path`, in its old position if it was there."""
    return with_value(plan, path, {**(value_at(plan, path) or {}), key: value})


def without_option(plan: Plan, path: str, key: str) -> Plan:
    """The plan without this option in the table at `path`."""
    options: Mapping[str, Any] = value_at(plan, path) or {}
    return with_value(plan, path, {name: value for name, value in options.items() if name != key})


def _with(part: Any, path: str, value: Any) -> Any:
    step, _, rest = path.partition(".")
    name, index = _parsed(step)
    if part is None:
        return None
    inner = getattr(part, name)
    if index is None:
        return replace(part, **{name: _with(inner, rest, value) if rest else value})
    if index >= len(inner):
        return part
    changed = _with(inner[index], rest, value) if rest else value
    return replace(part, **{name: (*inner[:index], changed, *inner[index + 1 :])})


def _parsed(step: str) -> tuple[str, int | None]:
    found = _STEP.fullmatch(step)
    if found is None:
        raise AttributeError(step)
    name, index = found.groups()
    return name, None if index is None else int(index)
