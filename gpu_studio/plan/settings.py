"""Apply single settings from the command line to a plan: `training.epochs=1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpu_studio.common.toml_text import toml_tables
from gpu_studio.plan.options import kind_of
from gpu_studio.plan.tables import from_tables, to_tables
from gpu_studio.plan.values import Plan, PlanError, Problem, shown

SOURCE = "settings"

_SOURCES = ("name", "file", "folder", "table", "python")
_REPLACED = {
    **{
        f"{part}.{source}": (part, (*_SOURCES, "options"))
        for part in ("model", "data")
        for source in _SOURCES
    },
    "training.optimizer": ("training", ("options",)),
}
"""What a setting removes: one source of a model replaces another, whose options go with it."""


def with_settings(plan: Plan, settings: Sequence[str]) -> Plan:
    """The plan with each `key=value` applied, in order.

    A value is parsed as TOML; text that is not TOML is a string, so that `model.name=lenet` needs
    no quotes. An empty value resets the key to its default. A new source of the model or the data
    replaces the old one and its options, a new optimizer the old one's. Raises PlanError for a key
    that plans do not have, or a value of the wrong kind.
    """
    if not settings:
        return plan
    tables = to_tables(plan)
    problems = [problem for setting in settings for problem in _lay_over(tables, setting)]
    if problems:
        raise PlanError(problems, SOURCE)
    return from_tables(tables, SOURCE)


def with_value(plan: Plan, field: str, value: Any) -> Plan:
    """The plan with `value`, as in a plan file, at the dotted `field`.

    Raises PlanError as `with_settings` does.
    """
    tables = to_tables(plan)
    names = field.split(".")
    table = _table_of(tables, names)
    if isinstance(table, Problem):
        raise PlanError([table], SOURCE)
    table[names[-1]] = value
    return from_tables(tables, SOURCE)


def _lay_over(tables: dict[str, Any], setting: str) -> list[Problem]:
    key, equals, text = setting.partition("=")
    names = [name.strip() for name in key.split(".")]
    if not equals or not all(names):
        return [
            Problem(shown(setting), "not a setting", "write key=value, such as training.epochs=1")
        ]
    _take_out_replaced(tables, ".".join(names), text)
    return _set(tables, names, text.strip())


def _take_out_replaced(tables: dict[str, Any], key: str, text: str) -> None:
    part, keys = _REPLACED.get(key, ("", ()))
    table = tables.get(part, {})
    if keys and table.get(key.partition(".")[2]) != _parsed(text.strip()):
        for each in keys:
            table.pop(each, None)


def _set(tables: dict[str, Any], names: list[str], text: str) -> list[Problem]:
    table = _table_of(tables, names)
    if isinstance(table, Problem):
        return [table]
    if text:
        table[names[-1]] = _parsed(text)
    else:
        table.pop(names[-1], None)
    return []


def _table_of(tables: dict[str, Any], names: list[str]) -> dict[str, Any] | Problem:
    """The table that contains the last of the names, created if needed."""
    table = tables
    for depth, name in enumerate(names[:-1], start=1):
        inner = _as_table(table.setdefault(name, {}))
        if inner is None:
            field = ".".join(names[:depth])
            return Problem(field, f"{kind_of(table[name])}, not a table", f"set {field} as a whole")
        table[name] = table = inner
    return table


def _as_table(value: Any) -> dict[str, Any] | None:
    """The table that holds further keys.

    A loss or a schedule written as a bare name becomes one.
    """
    if isinstance(value, str):
        return {"name": value}
    return value if isinstance(value, dict) else None


def _parsed(text: str) -> Any:
    try:
        tables = toml_tables(f"value = {text}")
    except ValueError:
        return text
    # A line break in the text could smuggle in a second key: then it is a string, not a TOML value.
    return tables["value"] if tables.keys() == {"value"} else text
