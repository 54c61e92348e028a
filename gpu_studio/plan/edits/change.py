"""An edit of a plan that a person requested, and the value at a path in a plan.

A path is written as in a plan file: `training.metrics[0].options`, `training.outputs."age".loss`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
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


_Step = tuple[str, int | None]
_STEP = re.compile(r'(?:([a-z_][a-z_0-9]*)|("(?:[^"\\]|\\.)*"))(?:\[(\d+)\])?(?:\.(?=.)|$)')


def keyed(path: str, key: str) -> str:
    """The path of a key in the table at `path`; in quotes, it may have any letters, dots too."""
    return f"{path}.{json.dumps(key)}"


def value_at(plan: Plan, path: str) -> Any:
    """The value at the path; None inside a part that the plan lacks.

    Raises AttributeError for a bad path.
    """
    value: Any = plan
    for name, index in _steps(path):
        if value is None:
            return None
        value = _inner(value, name)
        if index is not None:
            value = value[index] if value is not None and index < len(value) else None
    return value


def with_value(plan: Plan, path: str, value: Any) -> Plan:
    """The plan with `value` at the path, which is no longer as in a script.

    Unchanged if the part that contains it no longer exists.
    """
    changed: Plan = _with(plan, _steps(path), value)
    return replace(changed, training=changed.training.saying([path.removeprefix("training.")]))


def with_option(plan: Plan, path: str, key: str, value: Any) -> Plan:
    """The plan with an option in the table at `path`, in its old position if it was there."""
    return with_value(plan, path, {**(value_at(plan, path) or {}), key: value})


def without_option(plan: Plan, path: str, key: str) -> Plan:
    """The plan without this option in the table at `path`."""
    options: Mapping[str, Any] = value_at(plan, path) or {}
    return with_value(plan, path, {name: value for name, value in options.items() if name != key})


def _with(part: Any, steps: Sequence[_Step], value: Any) -> Any:
    (name, index), *rest = steps
    inner = _inner(part, name)
    if index is None:
        if rest and inner is None:
            return part
        changed = _with(inner, rest, value) if rest else value
    elif inner is None or index >= len(inner):
        return part
    else:
        one = _with(inner[index], rest, value) if rest else value
        changed = (*inner[:index], one, *inner[index + 1 :])
    return (
        {**part, name: changed} if isinstance(part, Mapping) else replace(part, **{name: changed})
    )


def _inner(part: Any, name: str) -> Any:
    return part.get(name) if isinstance(part, Mapping) else getattr(part, name)


def _steps(path: str) -> list[_Step]:
    """The names in a path, each with the place in its list that it asks for, if any."""
    steps: list[_Step] = []
    at = 0
    while at < len(path) or not steps:
        found = _STEP.match(path, at)
        if found is None:
            raise AttributeError(path)
        plain, quoted, index = found.groups()
        steps.append((plain or json.loads(quoted), None if index is None else int(index)))
        at = found.end()
    return steps
