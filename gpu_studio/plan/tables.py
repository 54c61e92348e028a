"""Convert a plan to and from plain tables, the form between its values and its TOML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from gpu_studio.plan.problems import PlanError, Problem, shown, with_kind
from gpu_studio.plan.reading import Reader
from gpu_studio.plan.validation import problems_besides
from gpu_studio.plan.values import VERSION, Named, Placed, Plan

SECTIONS = ("devices", "model", "data", "training", "distribution")


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
            "version", shown(version), f"this GPU Studio reads version {VERSION}: update it"
        )
    return None


def to_tables(plan: Plan) -> dict[str, Any]:
    """The plan as tables in the order of a plan file, without None and empty tables."""
    tables: dict[str, Any] = {"version": plan.version, "name": plan.name}
    for section in SECTIONS:
        tables[section] = _plain(getattr(plan, section))
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
        return {name: _plain(each) for name, each in pairs if not _is_left_out(name, each)}
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def _is_left_out(name: str, value: Any) -> bool:
    return value is None or (name == "options" and not value) or (name == "carve" and not value)


def _layer(devices: tuple[str, ...]) -> str | list[str]:
    return devices[0] if len(devices) == 1 else list(devices)
