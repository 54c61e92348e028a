"""The differences between two plans, field by field, named as in a plan file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_studio.plan.tables import to_tables
from gpu_studio.plan.values import Plan, path_to, shown


@dataclass(frozen=True, slots=True)
class Difference:
    """One field with its value `before` and `after`, as in a plan file; None if it is absent."""

    field: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.field} = {self.after} is new"
        if self.after is None:
            return f"{self.field} = {self.before} is gone"
        return f"{self.field} = {self.after}, was {self.before}"


def written(plan: Plan) -> dict[str, str]:
    """Every field that a plan file would contain, by its dotted name, with its value."""
    return {field: shown(value, sys.maxsize) for field, value in _leaves("", to_tables(plan))}


def section(field: str) -> int:
    """A sort key that puts fields of only one plan into their section, in stable order."""
    return _ORDER.index(head) if (head := field.split(".")[0].split("[")[0]) in _ORDER else -1


def differences(before: Plan, after: Plan) -> tuple[Difference, ...]:
    """The fields that differ, in the order of a plan file."""
    old, new = dict(_leaves("", to_tables(before))), dict(_leaves("", to_tables(after)))
    fields = list(dict.fromkeys([*new, *old]))
    changed = (
        field
        for field in fields
        if field not in old or field not in new or not _same(old[field], new[field])
    )
    return tuple(
        Difference(field, _text(old, field), _text(new, field))
        for field in sorted(changed, key=section)
    )


_ORDER = ("version", "name", "devices", "model", "data", "training", "distribution", "cluster")


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _leaves(path_to(path, str(key)), each)
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for index, each in enumerate(value):
            yield from _leaves(f"{path}[{index}]", each)
    else:
        yield path, value


def _same(one: Any, other: Any) -> bool:
    # In a plan file 1, 1.0 and true are three different values.
    return type(one) is type(other) and bool(one == other)


def _text(leaves: Mapping[str, Any], field: str) -> str | None:
    return shown(leaves[field]) if field in leaves else None
