"""Update the text of a plan file, changing only what differs: comments and order are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable, InlineTable

from gpu_studio.plan.files import INLINE, dumps, loads
from gpu_studio.plan.tables import LISTS, to_tables
from gpu_studio.plan.values import Plan, PlanError


def rewritten(text: str, plan: Plan) -> str:
    """The plan file `text` updated to `plan`; whatever both agree on is kept to the letter.

    A text that is not a plan, or that cannot be edited to match `plan`, is replaced entirely.
    """
    try:
        before = loads(text)
        if before == plan:
            return text
        changed = _changed(text, to_tables(before), to_tables(plan))
        return changed if loads(changed) == plan else dumps(plan)
    except (PlanError, TOMLKitError, ValueError, TypeError, KeyError):
        return dumps(plan)


def _changed(text: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    document = tomlkit.parse(text)
    _bring(document, before, after)
    return tomlkit.dumps(document)


def _bring(table: Any, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Apply the differences between `before`, which `table` holds, and `after`.

    Omitted defaults stay omitted.
    """
    for key in before:
        if key not in after:
            table.pop(key, None)
    for key, value in after.items():
        if key in before and _alike(before[key], value):
            continue
        if _can_be_entered(table, key, before, value):
            _bring(table[key], before[key], value)
        else:
            table[key] = _item(key, value)


def _can_be_entered(table: Any, key: str, before: Mapping[str, Any], value: Any) -> bool:
    there = table.get(key)
    both = isinstance(value, Mapping) and isinstance(before.get(key), Mapping)
    return (
        both
        and key not in INLINE
        and isinstance(there, AbstractTable)
        and not isinstance(there, InlineTable)
    )


def _item(key: str, value: Any) -> Any:
    """A value formatted as in plan files: options on one line, callbacks as tables of their own."""
    if key in LISTS:
        tables = tomlkit.aot()
        for each in value:
            table = tomlkit.table()
            for name, inner in each.items():
                table[name] = _item(name, inner)
            tables.append(table)
        return tables
    if isinstance(value, Mapping) and key in INLINE:
        return _inline(value)
    if isinstance(value, list):
        return _array(value)
    return tomlkit.item(value)


def _inline(value: Mapping[str, Any]) -> Any:
    table = tomlkit.inline_table()
    for key, each in value.items():
        table[key] = (
            _inline(each)
            if isinstance(each, Mapping)
            else _array(each)
            if isinstance(each, list)
            else each
        )
    return table


def _array(value: list[Any]) -> Any:
    array = tomlkit.array()
    for each in value:
        array.append(
            _inline(each)
            if isinstance(each, Mapping)
            else _array(each)
            if isinstance(each, list)
            else each
        )
    return array


def _alike(one: Any, other: Any) -> bool:
    # To TOML, 1, 1.0 and true are different values; to Python they are equal.
    return type(one) is type(other) and repr(one) == repr(other)
