"""Write a plan as a plan file's text: in fixed order, options on one line, without comments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomli_w

from gpu_studio.plan.tables import SECTIONS, to_tables
from gpu_studio.plan.values import Plan

INLINE = frozenset({"options", "loss", "schedule", "layers"})
"""Keys whose tables stand on the key's own line."""


def dumps(plan: Plan) -> str:
    """The plan as TOML, which `loads` converts back to an equal plan."""
    tables = to_tables(plan)
    lines = _lines({key: value for key, value in tables.items() if key not in SECTIONS})
    for section in SECTIONS:
        lines += _section(section, tables[section])
    return "\n".join(lines) + "\n"


def _section(path: str, table: Mapping[str, Any]) -> list[str]:
    """A section with its subsections.

    An empty part, such as a model not chosen yet, is left out.
    """
    nested = {key: value for key, value in table.items() if _is_nested(key, value)}
    lines = _lines({key: value for key, value in table.items() if key not in nested})
    lines = ["", f"[{path}]", *lines] if lines else []
    for key, value in nested.items():
        if isinstance(value, Mapping):
            lines += _section(f"{path}.{key}", value)
        else:
            for each in value:
                lines += ["", f"[[{path}.{key}]]", *_lines(each)]
    return lines


def _is_nested(key: str, value: Any) -> bool:
    return key == "carve" or (isinstance(value, Mapping) and key not in INLINE)


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {inline(value)}" for key, value in table.items()]


def inline(value: Any) -> str:
    """A value on one line, also lists and tables, which tomli_w would spread over several."""
    if isinstance(value, Mapping):
        pairs = [f"{_key(key)} = {inline(value[key])}" for key in sorted(value, key=_name_first)]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(inline, value))}]"
    return tomli_w.dumps({"v": value}).removeprefix("v = ").rstrip("\n")


def _name_first(key: str) -> bool:
    """A sort key that puts `name` first and keeps the order of the other keys."""
    return key != "name"


def _key(key: str) -> str:
    return tomli_w.dumps({key: 0}).removesuffix(" = 0\n")
