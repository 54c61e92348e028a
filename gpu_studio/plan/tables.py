"""Convert a plan to and from plain tables, the form between its values and its TOML.

The reader is driven by the types of the values, and collects every problem.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from gpu_studio.common.figures import grouped
from gpu_studio.plan.options import choose_one, nearest, with_kind
from gpu_studio.plan.validation import problems_besides
from gpu_studio.plan.values import (
    VERSION,
    Named,
    OutputTraining,
    Placed,
    Plan,
    PlanError,
    Problem,
    Training,
    listed,
    path_to,
    shown,
)

LISTS = ("carve", "callbacks", "phases")
"""Keys whose tables each stand under a heading of their own, `[[training.callbacks]]`."""
SECTIONS = ("devices", "model", "data", "training", "distribution", "cluster")
MOST_ENTRIES = 10_000
"""More than a list of any plan needs: the rules look at each entry, some of them at every pair."""


def from_tables(tables: Mapping[str, Any], source: str) -> Plan:
    """Convert tables to a plan.

    Raises PlanError with every wrong key and type, and with what the rules find in the sections
    that could be read, so that a person fixes a plan in one pass.
    """
    later = _later_version(tables)
    if later:
        raise PlanError([later], source)
    reader = Reader()
    plan: Plan = reader.table(Plan, "", tables)
    if reader.problems:
        raise PlanError([*reader.problems, *problems_besides(plan, reader.problems)], source)
    return plan


def _later_version(tables: Mapping[str, Any]) -> Problem | None:
    version = tables.get("version", VERSION)
    if isinstance(version, bool) or not isinstance(version, int):
        return Problem("version", with_kind(version), f"write version = {VERSION}")
    if version > VERSION:
        return Problem(
            "version", shown(version), f"this GPU Studio reads version {VERSION}: update GPU Studio"
        )
    return None


def to_tables(plan: Plan) -> dict[str, Any]:
    """The plan as tables in the order of a plan file, without None and empty tables."""
    tables: dict[str, Any] = {"version": plan.version, "name": plan.name}
    for section in SECTIONS:
        if (part := getattr(plan, section)) is not None:
            tables[section] = _plain(part)
    return tables


def _plain(value: Any) -> Any:
    if isinstance(value, Named):
        return {**_plain(value.options), "name": value.name} if value.options else value.name
    if isinstance(value, Placed):
        layers = {key: _layer(on) for key, on in value.layers.items()}
        return {
            "micro_batches": value.micro_batches,
            "recompute": value.recompute,
            "layers": layers,
        }
    if is_dataclass(value):
        pairs = ((each.name, getattr(value, each.name)) for each in fields(value))
        kept = {name: _plain(each) for name, each in pairs if not _is_left_out(name, each)}
        to_script = getattr(value, "as_in_script", ())
        return {name: each for name, each in kept.items() if name not in to_script}
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def _is_left_out(name: str, value: Any) -> bool:
    if name in _LEFT_OUT_AUTO:
        return bool(value == "auto")
    return (
        value is None or (name in _LEFT_OUT and not value) or (name in _LEFT_OUT_ON and value == 1)
    )


_LEFT_OUT = (
    "options",
    "outputs",
    "class_weight",
    "frozen",
    "setup",
    "flags",
    "steps_per_epoch",
    "validation_steps",
    "initial_epoch",
    "as_in_script",
    *LISTS,
)
"""What a plan file does not have while it is empty, 0 or false."""
_LEFT_OUT_ON = ("tf32", "shuffle", "validation_freq")
"""What a plan file does not have while it is true or 1, as older files do not."""
_LEFT_OUT_AUTO = ("jit_compile",)
"""What it does not have while it is "auto"; files from before there was that lack their false."""


def _layer(devices: tuple[str, ...]) -> str | list[str]:
    return devices[0] if len(devices) == 1 else list(devices)


Table = Mapping[str, Any]
Layers = Mapping[str, tuple[str, ...]]
Outputs = Mapping[str, OutputTraining]
Automatic = bool | Literal["auto"]
Read = Callable[[str, Any], Any]

UNREADABLE: Any = object()
LARGEST = 2**63 - 1
DEEPEST = 16


class Reader:
    """Converts tables to values.

    What is invalid is left at its default and recorded in `problems`.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._simple: dict[Any, Read] = {
            bool: self._boolean,
            int: self._whole,
            float: self._number,
            str: self._text,
            Layers: self._layers,
            Outputs: self._outputs,
            Automatic: self._automatic,
        }

    def table(self, cls: Any, path: str, value: Any) -> Any:
        """The dataclass `cls` made from a table.

        `UNREADABLE` if it is no table or lacks a required key.
        """
        if not isinstance(value, Mapping):
            return self._wrong(path, value, f"write a table with {listed(_hints(cls))}")
        self._unknown_keys(cls, path, value)
        read = {
            key: self.value(hint, path_to(path, key), value[key])
            for key, hint in _hints(cls).items()
            if key in value
        }
        readable = {key: each for key, each in read.items() if each is not UNREADABLE}
        if cls is Training and "as_in_script" in readable:  # what the plan says itself counts
            left = readable["as_in_script"]
            readable["as_in_script"] = tuple(each for each in left if each not in value)
        missing = _required(cls) - read.keys()
        self.problems += [
            Problem(path_to(path, key), "missing", _how_to_write(key)) for key in sorted(missing)
        ]
        return cls(**readable) if _required(cls) <= readable.keys() else UNREADABLE

    def value(self, hint: Any, path: str, value: Any) -> Any:
        """One value of the type `hint`; `UNREADABLE` if it does not match."""
        if hint in self._simple:
            return self._simple[hint](path, value)
        if is_dataclass(hint):
            return self._part(hint, path, value)
        origin, inner = get_origin(hint), get_args(hint)
        if origin is Literal:
            return self._choice(inner, path, value)
        if origin in (Union, types.UnionType):
            return self.value(inner[0], path, value)
        if origin is tuple:
            return self._several(inner[0], path, value)
        return self._options(path, value)

    def _part(self, cls: Any, path: str, value: Any) -> Any:
        if cls is Named:
            return self._named(path, value)
        if cls is Placed and isinstance(value, Mapping) and "layers" in value:
            value = {**value, "layers": _as_lists(value["layers"])}
        return self.table(cls, path, value)

    def _unknown_keys(self, cls: Any, path: str, table: Table) -> None:
        known = list(_hints(cls))
        for key in table:
            if key not in known:
                found = unknown_key(path_to(path, key), key, path, known)
                self.problems.append(found if path else _within(key, found))

    def _wrong(self, path: str, value: Any, advice: str) -> Any:
        self.problems.append(Problem(path, with_kind(value), advice))
        return UNREADABLE

    def _boolean(self, path: str, value: Any) -> Any:
        return (
            value
            if isinstance(value, bool)
            else self._wrong(path, value, "write true or false, without quotes")
        )

    def _automatic(self, path: str, value: Any) -> Any:
        known = isinstance(value, bool) or value == "auto"
        return value if known else self._wrong(path, value, 'write true, false or "auto"')

    def _whole(self, path: str, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int):
            return self._wrong(path, value, "give a whole number, without quotes")
        if abs(value) > LARGEST:
            return self._wrong(path, value, "give a number that fits 64 bits")
        return value

    def _number(self, path: str, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return self._wrong(path, value, "give a number, without quotes")
        if not _is_finite(value):
            return self._wrong(path, value, "give a finite number")
        return float(value)

    def _text(self, path: str, value: Any) -> Any:
        if not isinstance(value, str):
            return self._wrong(path, value, "write a text in quotes")
        return value if _is_unicode(value) else self._wrong(path, value, "write it in UTF-8")

    def _choice(self, choices: tuple[str, ...], path: str, value: Any) -> Any:
        if not isinstance(value, str):
            return self._wrong(path, value, f"write {listed(map(shown, choices), 'or')}")
        if value not in choices:
            self.problems.append(Problem(path, shown(value), choose_one(value, choices)))
            return UNREADABLE
        return value

    def _several(self, hint: Any, path: str, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            advice = (
                f"write [[{path}]], with two brackets"
                if is_dataclass(hint) and isinstance(value, Mapping)
                else "write a list in brackets, [ … ]"
            )
            return self._wrong(path, value, advice)
        if len(value) > MOST_ENTRIES:
            advice = f"give {grouped(MOST_ENTRIES)} at most"
            self.problems.append(Problem(path, f"a list of {grouped(len(value))}", advice))
            return UNREADABLE
        read = [self.value(hint, f"{path}[{index}]", each) for index, each in enumerate(value)]
        return tuple(each for each in read if each is not UNREADABLE)

    def _named(self, path: str, value: Any) -> Any:
        if isinstance(value, str):
            return Named(value)
        if not isinstance(value, Mapping):
            return self._wrong(
                path, value, 'write a name in quotes, or { name = "…" } with its options'
            )
        if not isinstance(value.get("name"), str):
            given = with_kind(value["name"]) if "name" in value else "missing"
            self.problems.append(Problem(path_to(path, "name"), given, "write a name in quotes"))
            return UNREADABLE
        options = self._options(path, {key: each for key, each in value.items() if key != "name"})
        return UNREADABLE if options is UNREADABLE else Named(value["name"], options)

    def _layers(self, path: str, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return self._wrong(path, value, 'write a table such as { dense = "GPU:0" }')
        read = {
            self._text(path, key): self._several(str, path_to(path, key), each)
            for key, each in value.items()
        }
        return {key: each for key, each in read.items() if UNREADABLE not in (key, each)}

    def _outputs(self, path: str, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return self._wrong(path, value, f"write [{path}.NAME], with the name of an output")
        read = {
            self._text(path, key): self._part(OutputTraining, path_to(path, key), each)
            for key, each in value.items()
        }
        return {key: each for key, each in read.items() if UNREADABLE not in (key, each)}

    def _options(self, path: str, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return self._wrong(path, value, "write a table, { … }")
        before = len(self.problems)
        read = self._plain(path, value, DEEPEST)
        return read if len(self.problems) == before else UNREADABLE

    def _plain(self, path: str, value: Any, depth: int) -> Any:
        if depth == 0:
            return self._wrong(path, value, "nest lists and tables less deeply")
        if isinstance(value, list | tuple):
            return [
                self._plain(f"{path}[{index}]", each, depth - 1) for index, each in enumerate(value)
            ]
        if isinstance(value, Mapping):
            return {
                self._text(path, key): self._plain(path_to(path, key), each, depth - 1)
                for key, each in value.items()
            }
        simple = self._simple.get(type(value))
        if simple is None:
            return self._wrong(
                path, value, "give a number, a text, true or false, a list or a table"
            )
        return simple(path, value)


def _within(key: str, unknown: Problem) -> Problem:
    """The same problem of a key at the top that one or more parts of a plan have."""
    parts = ((part, cls) for part, cls in _hints(Plan).items() if isinstance(cls, type))
    found = [f"{part}.{key}" for part, cls in parts if part in SECTIONS and key in _hints(cls)]
    return replace(unknown, advice=f"did you mean {' or '.join(found)}?") if found else unknown


def unknown_key(field: str, key: str, path: str, known: list[str]) -> Problem:
    """The problem of a key that plans do not have, with the nearest one that they have."""
    where = f"[{path}]" if path else "a plan"
    close = nearest(key, known)
    advice = f"did you mean {close}?" if close else f"{where} has {listed(known)}"
    return Problem(field, f"not a key of {where}", advice)


def _as_lists(layers: Any) -> Any:
    if not isinstance(layers, Mapping):
        return layers
    return {key: [each] if isinstance(each, str) else each for key, each in layers.items()}


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_unicode(text: str) -> bool:
    """Whether the text has no lone surrogates, which no file can hold.

    A command line in another encoding can contain them.
    """
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


@cache
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


@cache
def _required(cls: Any) -> frozenset[str]:
    return frozenset(
        each.name
        for each in fields(cls)
        if each.default is MISSING and each.default_factory is MISSING
    )


def _how_to_write(key: str) -> str:
    return f'write {key} = "…"'
