"""A study: a plan and axes, which make many runs of it. Its file, its points and their order.

A study file is TOML, as strict as a plan file. Each axis has values of one field of the plan, or
choices that set several fields; a point has one value of each axis. Where runs of a study are
kept is no matter here.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from gpu_studio.common.cut_texts import cut_apart
from gpu_studio.common.figures import grouped, plural
from gpu_studio.common.paths import is_missing
from gpu_studio.common.toml_text import toml_tables
from gpu_studio.lab.largest_batch import LargestBatch, lines_of, read_largest
from gpu_studio.plan import (
    Plan,
    PlanError,
    Problem,
    choose_one,
    inline,
    listed,
    nearest,
    printable,
    shown,
    with_kind,
    with_settings,
)
from gpu_studio.plan import dumps as plan_text
from gpu_studio.plan.files import read_text
from gpu_studio.plan.tables import SECTIONS

VERSION: Final = 2
"""Of a study that says which batch is the largest; every other one is of the first."""
SUFFIX: Final = ".study.toml"
Template = Literal["scaling-strong", "scaling-weak", "strategies", "batch", "sweep"]
TEMPLATES: Final[tuple[str, ...]] = get_args(Template)
HELD: Final[Mapping[str, str]] = {"global batch": "global", "batch per replica": "replica"}
"""What a study can hold fixed over its points, and the plan's `training.batch_scope` for it."""
MOST_RUNS: Final = 10_000
LARGEST_SEED: Final = 2**31 - 1
_LONGEST_NAME: Final = 200
_LONGEST_WORD: Final = 120
_LARGEST_AMOUNT: Final = 10**12
_SHORTER: Final = f"write it in {_LONGEST_NAME} letters at most"
_LARGEST: Final = 1e300
"""A number beyond it has no place on an axis; `nan` has none either."""
SEED: Final = "training.seed"
DEVICES: Final = "distribution.devices"
_KEYS: Final = (
    *("version", "name", "plan", "template", "search", "budget", "seed", "repeats", "hold"),
    *("set", "axes", "largest"),
)
_WHOLE: Final = {"budget": (0, MOST_RUNS), "seed": (0, LARGEST_SEED), "repeats": (1, MOST_RUNS)}


@dataclass(frozen=True, slots=True)
class AxisChoice:
    """One value of an axis: the fields of the plan that it sets, and what it is called."""

    label: str
    fields: Mapping[str, Any]

    @property
    def x(self) -> float | None:
        """The value as a number: that of a field, or how many devices; None if it is neither."""
        if len(self.fields) != 1:
            return None
        (value,) = self.fields.values()
        if isinstance(value, list | tuple):
            return float(len(value))
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        return float(value) if abs(value) <= _LARGEST else None


@dataclass(frozen=True, slots=True)
class StudyAxis:
    """What differs between points: `name` is the field, or what the choices are called."""

    name: str
    choices: tuple[AxisChoice, ...]


@dataclass(frozen=True, slots=True)
class Study:
    """A study as its file has it. `plan` is the plan's path, from the folder of the file.

    `held` is a key of HELD, or empty. `fields` are laid over the plan at every point. With `search`
    "random", `budget` points are drawn from the grid by `seed`, which also draws the order of runs.
    Each point is trained `repeats` times. `largest` says which batches fit, the plan's own first.
    """

    name: str
    plan: str
    template: Template = "sweep"
    axes: tuple[StudyAxis, ...] = ()
    search: Literal["grid", "random"] = "grid"
    budget: int = 0
    seed: int = 0
    repeats: int = 1
    held: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    largest: tuple[LargestBatch, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a study: the choice on each axis, and the plan that is trained there.

    `key` says what is trained: it is that of the plan without its name.
    """

    choices: tuple[AxisChoice, ...]
    plan: Plan
    key: str

    @property
    def label(self) -> str:
        """The choices in words."""
        return ", ".join(choice.label for choice in self.choices) or "the plan"

    @property
    def group(self) -> str:
        """The choices without the seed: points that differ in nothing else repeat each other."""
        kept = [each.label for each in self.choices if SEED not in each.fields]
        return ", ".join(kept) or "the plan"

    @property
    def x(self) -> float | None:
        """The first choice that is not a seed, as a number."""
        return next((each.x for each in self.choices if SEED not in each.fields), None)


def is_study(path: Path) -> bool:
    """Whether a file is a study, by its name."""
    return path.name.endswith(SUFFIX)


def load_study(path: Path) -> Study:
    """Read the study in a file. Raises PlanError with everything that is wrong, in words."""
    if is_missing(path):
        advice = "check the name, or make one with gpu-studio study new"
        source = printable(str(path))
        raise PlanError([Problem(source, "missing", advice)], source)
    return loads_study(read_text(path), printable(str(path)))


def loads_study(text: str, source: str = "study") -> Study:
    """Parse a study from TOML; `source` names the text. Raises PlanError as `load_study` does."""
    if not text.strip():
        advice = "it was cut off, or never written: make one with gpu-studio study new"
        raise PlanError([Problem(source, "empty", advice)], source)
    try:
        tables = toml_tables(text)
    except ValueError as error:
        advice = "mend the line, or take an older copy if the file was cut off"
        raise PlanError([Problem(source, f"not TOML ({error})", advice)], source) from None
    version = tables.get("version", VERSION)
    if isinstance(version, int) and version > VERSION:
        advice = f"this GPU Studio reads version {VERSION} of studies: update GPU Studio"
        raise PlanError([Problem("version", shown(version), advice)], source)
    found: list[Problem] = []
    study = _read(tables, found)
    if found:
        raise PlanError(found, source)
    return study


def _read(tables: Mapping[str, Any], found: list[Problem]) -> Study:
    for key in tables:
        if key not in _KEYS:
            close = nearest(key, _KEYS)
            advice = f"did you mean {close}?" if close else f"a study has {listed(_KEYS)}"
            found.append(Problem(printable(key), "not a key of a study", advice))
    name, plan = (_text(tables, key, "", found) for key in ("name", "plan"))
    for key, value, such in (("name", name, "a name"), ("plan", plan, "the path of the plan")):
        if not value and isinstance(tables.get(key, ""), str):
            found.append(Problem(key, "missing", f"write {such} in quotes"))
    if len(name) > _LONGEST_NAME:
        found.append(Problem("name", shown(name), _SHORTER))
    choices = {"template": TEMPLATES, "search": ("grid", "random"), "hold": ("", *HELD)}
    first = {"template": "sweep", "search": "grid", "hold": ""}
    words = {key: _text(tables, key, first[key], found) for key in choices}
    for key, known in choices.items():
        if words[key] not in known:
            advice = choose_one(words[key], filter(None, known))
            found.append(Problem(key, shown(words[key]), advice))
    whole = {key: _count(tables, key, *ends, found) for key, ends in _WHOLE.items()}
    fields = tables.get("set", {})
    if not isinstance(fields, Mapping):
        found.append(Problem("set", with_kind(fields), "write a table of fields of the plan"))
        fields = {}
    axes = _axes(tables.get("axes", []), found)
    made: dict[str, Any] = {
        "template": words["template"],
        "search": words["search"],
        "held": words["hold"],
        "fields": _flat(fields),
        "largest": read_largest(tables.get("largest", []), found),
        **whole,
    }
    study = Study(name, plan, axes=axes, **made)
    found += sense_of(study)
    return study


def sense_of(study: Study) -> Iterator[Problem]:
    """What is wrong with a study whose values are each right."""
    if study.search == "random" and not study.budget:
        yield Problem("budget", "0", "say how many points are drawn, such as budget = 20")
    if study.search == "grid" and study.budget:
        advice = 'leave it out, or write search = "random"'
        yield Problem("budget", str(study.budget), advice)
    names = [axis.name for axis in study.axes]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield Problem("axes", f"twice about {printable(name)}", "write its values in one axis")
    points = math.prod(len(axis.choices) for axis in study.axes)
    if study.search == "random" and points > sys.maxsize:
        advice = "nothing can be drawn from so many: take fewer axes, or fewer values"
        yield Problem("axes", f"good for more than {grouped(sys.maxsize)} points", advice)
    runs = (min(points, study.budget) if study.search == "random" else points) * study.repeats
    if runs > MOST_RUNS:
        fewer = "a smaller budget" if study.search == "random" else 'search = "random"'
        advice = f"{grouped(MOST_RUNS)} are the most: take fewer values or repeats, or {fewer}"
        yield Problem("axes", f"good for {grouped(runs)} runs", advice)


def _text(tables: Mapping[str, Any], key: str, default: str, found: list[Problem]) -> str:
    value = tables.get(key, default)
    if isinstance(value, str):
        return value
    found.append(Problem(key, with_kind(value), "write a text in quotes"))
    return default


def _count(tables: Mapping[str, Any], key: str, least: int, most: int, found: list[Problem]) -> int:
    value = tables.get(key, least)
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    advice = f"give a whole number from {least} to {grouped(most)}, without quotes"
    found.append(Problem(key, with_kind(value), advice))
    return least


def _axes(tables: Any, found: list[Problem]) -> tuple[StudyAxis, ...]:
    if not isinstance(tables, list):
        found.append(Problem("axes", with_kind(tables), "write [[axes]], with two brackets"))
        return ()
    read = (_axis(f"axes[{place}]", table, found) for place, table in enumerate(tables))
    return tuple(axis for axis in read if axis is not None)


def _axis(path: str, table: Any, found: list[Problem]) -> StudyAxis | None:
    forms = {frozenset({"field", "values"}): "field", frozenset({"name", "choices"}): "name"}
    key = forms.get(frozenset(table)) if isinstance(table, Mapping) else None
    if key is None:
        advice = 'write field = "training.batch_size" and values = [ … ], or name and choices'
        there = f"a table with {listed(table)}" if isinstance(table, Mapping) else with_kind(table)
        found.append(Problem(path, there or "empty", advice))
        return None
    name, given = table[key], table["values" if key == "field" else "choices"]
    if isinstance(name, str) and len(name) > _LONGEST_NAME:
        found.append(Problem(f"{path}.{key}", shown(name), _SHORTER))
        return None
    if not isinstance(name, str) or not name or not isinstance(given, list) or not given:
        advice = "give it a name in quotes, and a list with at least one value"
        found.append(Problem(path, shown(table), advice))
        return None
    if key == "field":
        return axis_of(name, given)
    if any(not isinstance(each, Mapping) or not each for each in given):
        found.append(Problem(f"{path}.choices", shown(given), "give tables of fields of the plan"))
        return None
    flat = [_flat(each) for each in given]
    return StudyAxis(name, tuple(AxisChoice(_said(each), each) for each in flat))


def axis_of(field: str, values: Sequence[Any]) -> StudyAxis:
    """An axis with these values of one field of the plan."""
    return StudyAxis(
        field, tuple(AxisChoice(_in_words(field, each), {field: each}) for each in values)
    )


def _said(fields: Mapping[str, Any]) -> str:
    """The values of a choice; an empty one only takes a field back to its default."""
    return ", ".join(_word(value) for value in fields.values() if value != "")


def _in_words(key: str, value: Any) -> str:
    if key == DEVICES and isinstance(value, list):
        return plural(len(value), "device")
    return f"{called(key)} {grouped(value) if _is_amount(key, value) else _word(value)}"


def _is_amount(key: str, value: Any) -> bool:
    """Whether a value is a whole number that counts something, which a seed does not."""
    return type(value) is int and key != SEED and abs(value) < _LARGEST_AMOUNT


def called(field: str) -> str:
    """What a field of a plan is called in labels: `learning rate`."""
    return field.rpartition(".")[2].replace("_", " ")


def _word(value: Any) -> str:
    """A value in a label, which distinguishes points: what is cut stays different."""
    text = printable(value) if isinstance(value, str) else shown(value, sys.maxsize)
    return cut_apart(text, _LONGEST_WORD)


def _flat(tables: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Each field by its dotted name, whether the dots stood in quotes or made tables."""
    found: dict[str, Any] = {}
    for key, value in tables.items():
        name = f"{path}.{key}" if path else key
        if isinstance(value, Mapping) and value and name.partition(".")[0] in SECTIONS:
            found |= _flat(value, name)
        else:
            found[name] = value
    return found


def dumps_study(study: Study) -> str:
    """The study as TOML, which `loads_study` converts back to an equal one."""
    lines = [
        f"version = {VERSION if study.largest else 1}",
        *(f"{key} = {inline(getattr(study, key))}" for key in ("name", "plan", "template")),
    ]
    if study.search == "random":
        lines += ['search = "random"', f"budget = {study.budget}"]
    lines += [f"seed = {study.seed}", f"repeats = {study.repeats}"]
    lines += [f"hold = {inline(study.held)}"] if study.held else []
    if study.fields:
        lines += [
            "",
            "[set]",
            *(f"{inline(key)} = {inline(value)}" for key, value in study.fields.items()),
        ]
    for axis in study.axes:
        single = all(list(each.fields) == [axis.name] for each in axis.choices)
        values = [each.fields[axis.name] if single else dict(each.fields) for each in axis.choices]
        keys = ("field", "values") if single else ("name", "choices")
        body = ",\n".join(f"  {inline(value)}" for value in values)
        lines += ["", "[[axes]]", f"{keys[0]} = {inline(axis.name)}", f"{keys[1]} = [\n{body},\n]"]
    for each in study.largest:
        lines += ["", *lines_of(each)]
    return "\n".join(lines) + "\n"


def points_of(study: Study, plan: Plan) -> tuple[Point, ...]:
    """The points of a study of `plan`, in the order of its axes.

    Raises PlanError if a field is not one of a plan or a value is of the wrong kind, in the words
    of the plan's own reader, with the point it is about. Whether the plans make sense on a machine
    is for their rules.
    """
    found: dict[Problem, None] = {}
    points: dict[str, Point] = {}
    for choices in _combinations(study):
        try:
            point = _point(study, plan, choices)
        except PlanError as error:
            found |= dict.fromkeys(error.problems)
        else:
            points.setdefault(point.key, point)
    if found:
        raise PlanError(found, study.name)
    return tuple(points.values())


def _combinations(study: Study) -> Iterator[tuple[AxisChoice, ...]]:
    if study.search == "grid":
        yield from itertools.product(*(axis.choices for axis in study.axes))
        return
    drawn, sizes = _drawn_by(study.seed), [len(axis.choices) for axis in study.axes]
    count = math.prod(sizes)
    for place in sorted(drawn.sample(range(count), min(study.budget, count))):
        chosen = []
        for axis, size in zip(reversed(study.axes), reversed(sizes), strict=True):
            place, index = divmod(place, size)
            chosen.append(axis.choices[index])
        yield tuple(reversed(chosen))


def _drawn_by(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311


def _point(study: Study, plan: Plan, choices: tuple[AxisChoice, ...]) -> Point:
    fields = dict(study.fields)
    if study.held:
        fields["training.batch_scope"] = HELD[study.held]
    for choice in choices:
        fields |= choice.fields
    made = plan_with(plan, fields)
    text = plan_text(replace(made, name=""))
    key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    label = ", ".join(choice.label for choice in choices)
    # The choices first: where there is no space for the whole name, runs still look different.
    name = f"{label} · {study.name}" if label else study.name
    return Point(choices, replace(made, name=name), key)


def plan_with(plan: Plan, fields: Mapping[str, Any]) -> Plan:
    """The plan with these values at these fields. Raises PlanError.

    An empty text takes a field back to its default, as with --set.
    """
    settings = [f"{key}={inline(value) if value != '' else ''}" for key, value in fields.items()]
    return with_settings(plan, settings)


def in_drawn_order(study: Study, points: Sequence[Point]) -> list[tuple[Point, int]]:
    """Every run of a study as its point and its repeat from 0, in the order drawn by the seed.

    All points are run once before any is repeated, each time in another order, so that a machine
    that grows warm does not look like an effect of an axis.
    """
    drawn, order = _drawn_by(study.seed), list[tuple[Point, int]]()
    for repeat in range(study.repeats):
        order += [(point, repeat) for point in drawn.sample(points, len(points))]
    return order


def unreadable_plan(study: Study, path: Path) -> PlanError:
    """Say that the plan of a study is not there."""
    advice = f"put it back, or write where it is into the study {printable(study.name)}"
    return PlanError([Problem("plan", f"missing at {printable(str(path))}", advice)], study.name)
