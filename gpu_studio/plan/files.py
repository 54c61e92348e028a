"""A plan file: read it, write it in fixed order, and find the line that a problem is about.

A crash while writing leaves the old file or the new one, never a part.
"""

from __future__ import annotations

import errno
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import tomli_w

from gpu_studio.common.python_syntax import mistake_in
from gpu_studio.common.safe_files import opened, write_output
from gpu_studio.common.toml_text import NestedTooDeeplyError, toml_tables
from gpu_studio.plan.references import SUFFIX
from gpu_studio.plan.script_calls import call_at
from gpu_studio.plan.scripts import (
    BY_HAND,
    LEGACY,
    OF_KERAS_2,
    TUNED,
    legacy_in,
    older_fit,
    plan_of,
    searched_in,
)
from gpu_studio.plan.tables import LISTS, SECTIONS, from_tables, to_tables
from gpu_studio.plan.values import Plan, PlanError, Problem, printable

NOTEBOOK = ".ipynb"
LARGEST_BYTES = 1024 * 1024
"""A plan is small enough to write by hand.

What is larger is no plan, and reading it would only cost time.
"""

_WHERE = re.compile(
    r"^(?P<why>.*) \(at (?P<where>line \d+, column \d+|end of document)\)$", re.DOTALL
)


def load(path: Path, fit: int = 1) -> Plan:
    """Read the plan in a file.

    Raises PlanError if the file is missing, cannot be read, is not UTF-8 or TOML, or has keys or
    values of the wrong kind, with every problem at once. Whether the plan makes sense is for
    `validate` to say. The file may be a Python script that calls `fit`, or goes to a
    module beside it that does: the plan trains what its call number `fit` is given.
    """
    source = printable(str(path))
    if (plan := _of_script(path, fit)) is not None:
        return plan
    found = loads(_text_of(path, source), source)
    if fit == 1:
        return found
    received = f"asked to train call {fit} of fit"
    advice = f'that is for a script; a plan names it: model.python = "train.py:fit_{fit}"'
    raise PlanError([Problem(source, received, advice)], source)


def _of_script(path: Path, fit: int) -> Plan | None:
    try:
        call = call_at(path, _bytes_of(path), fit) if path.suffix == SUFFIX else None
    except (OSError, ValueError):
        return None
    return plan_of(path.name, call) if call else None


def read_text(path: Path) -> str:
    """The text of a plan file, valid or not. Raises PlanError if it cannot be read as text."""
    return _text_of(path, printable(str(path)))


def loads(text: str, source: str = "plan") -> Plan:
    """Parse a plan from TOML; `source` names the text in messages.

    Raises PlanError as `load` does.
    """
    if not text.strip():
        raise PlanError(
            [
                Problem(
                    source, "empty", "it was cut off, or never written: start from a starter plan"
                )
            ],
            source,
        )
    return from_tables(_parsed(text, source), source)


def save(plan: Plan, path: Path, text: str | None = None) -> None:
    """Write the plan to a file, as `text` if a person wrote it as such.

    The file is replaced whole or not at all. Raises OSError, also for a name that ends in .py: the
    plan of a script may be kept beside it, and never in its place.
    """
    if path.suffix == SUFFIX:
        raise OSError(errno.EINVAL, f"a plan is no Python file, call it {path.stem}.plan.toml")
    write_output(path, [(dumps(plan) if text is None else text).encode()])


def _text_of(path: Path, source: str) -> str:
    try:
        content = _bytes_of(path)
    except FileNotFoundError:
        problem = Problem(
            source, "missing", "check the name, or write a plan there with the command `starter`"
        )
    except IsADirectoryError:
        problem = Problem(source, "a folder", "name the plan file in it")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        problem = Problem(
            source, f"not readable ({reason.lower()})", "check its name and permissions"
        )
    else:
        if path.suffix not in (SUFFIX, NOTEBOOK):
            return _decoded(content, source)
        problem = _python(path, source, content) if path.suffix == SUFFIX else _notebook(path)
    raise PlanError([problem], source)


def _python(path: Path, source: str, content: bytes) -> Problem:
    """The message for a person who gives the model's program, where the plan is asked for."""
    if mistake := mistake_in(content):
        version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        return Problem(
            source, f"no code that {version} can read", f"{mistake}; what trains it is {version}"
        )
    if line := searched_in(content):
        return Problem(source, "a search with KerasTuner", TUNED.format(line=line))
    if place := legacy_in(path, content):
        return Problem(source, "a program of Keras 2", LEGACY.format(place=place))
    if place := older_fit(path, content):
        return Problem(source, "a program of Keras 2", OF_KERAS_2.format(place=place))
    trains = b"train_on_batch" in content or b"GradientTape" in content
    by_hand = f". {BY_HAND}" if trains else ""
    return Problem(
        source,
        "Python code, and no plan",
        "a script that calls a model's fit can be given in place of a plan. Else a plan is a file "
        f"of its own that names functions in {printable(path.name)}, under model.python and "
        f"data.python; `gpu-studio guide own-code` shows how{by_hand}",
    )


def _notebook(path: Path) -> Problem:
    name = shlex.quote(printable(path.name))
    return Problem(
        printable(str(path)),
        "a notebook, and no plan",
        f"`jupyter nbconvert --to script {name}` writes its cells into a Python file, which can be "
        "given in place of a plan if it calls a model's fit",
    )


def _bytes_of(path: Path) -> bytes:
    with opened(path, follow=True) as file:
        return file.read(LARGEST_BYTES + 1)


def _decoded(content: bytes, source: str) -> str:
    try:
        if len(content) <= LARGEST_BYTES:
            return content.decode("utf-8-sig")
        problem = Problem(
            source, "larger than 1 MiB", "this is no plan, which is a short text: check the name"
        )
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        problem = Problem(
            f"{source}, line {line},", "not UTF-8 text", "save the file as UTF-8, or check the name"
        )
    raise PlanError([problem], source)


def _parsed(text: str, source: str) -> dict[str, Any]:
    try:
        text.encode("utf-8")
        return toml_tables(text)
    except UnicodeEncodeError:
        problem = Problem(source, "not UTF-8 text", "write it in UTF-8")
    except NestedTooDeeplyError:
        problem = Problem(
            source, "nested too deeply", "a plan needs no more than a few levels of brackets"
        )
    except ValueError as error:
        problem = _syntax_problem(str(error), source)
    raise PlanError([problem], source)


def _syntax_problem(message: str, source: str) -> Problem:
    found = _WHERE.match(message)
    if not found:
        return Problem(
            source,
            f"not TOML ({message.partition(';')[0].lower()})",
            "mend it; texts stand in quotes",
        )
    why, where = found["why"].lower(), found["where"]
    if where == "end of document":
        return Problem(
            f"{source}, at its end,", f"cut off ({why})", "complete it, or take an older copy"
        )
    return Problem(
        f"{source}, {where},", f"not TOML ({why})", "mend the line; texts stand in quotes"
    )


INLINE = frozenset({"options", "loss", "schedule", "layers", "class_weight"})
"""Keys whose tables stand on the key's own line."""


def dumps(plan: Plan) -> str:
    """The plan as TOML, which `loads` converts back to an equal plan."""
    tables = to_tables(plan)
    lines = _key_lines({key: value for key, value in tables.items() if key not in SECTIONS})
    for section in SECTIONS:
        lines += _section_lines(section, tables.get(section, {}))
    return "\n".join(lines) + "\n"


def _section_lines(path: str, table: Mapping[str, Any]) -> list[str]:
    """A section with its subsections.

    An empty part, such as a model not chosen yet, is left out.
    """
    nested = {key: value for key, value in table.items() if _is_nested(key, value)}
    lines = _key_lines({key: value for key, value in table.items() if key not in nested})
    lines = ["", f"[{path}]", *lines] if lines else []
    for key, value in nested.items():
        if isinstance(value, Mapping):
            lines += _section_lines(f"{path}.{_key(key)}", value)
        else:
            for each in value:
                lines += ["", f"[[{path}.{key}]]", *_key_lines(each)]
    return lines


def _is_nested(key: str, value: Any) -> bool:
    return key in LISTS or (isinstance(value, Mapping) and key not in INLINE)


def _key_lines(table: Mapping[str, Any]) -> list[str]:
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


@lru_cache(maxsize=1024)
def _key(key: str) -> str:
    return tomli_w.dumps({key: 0}).removesuffix(" = 0\n")


_REPORTED_LINE = re.compile(r", line (\d+)")
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(
    r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*="
)
_PART = re.compile(r"\"[^\"]*\"|'[^']*'|[^.\s\[\]]+")

_KeyPath = tuple[str, ...]


def line_of(text: str, problem: Problem) -> int | None:
    """The line of `text`, from 1, that a problem is about; None if it is about no single line.

    A TOML syntax error gives its own line. Otherwise it is the line of the field, or of the
    innermost table around it that is present. Keys are looked for as they are usually written: a
    multi-line string may mislead it.
    """
    if reported := _REPORTED_LINE.search(problem.field):
        return int(reported.group(1))
    wanted, best, line = _keys_of(problem.field), 0, None
    for number, path in _written_keys(text):
        common = _common_keys(path, wanted)
        if common == len(path) and common > best:
            best, line = common, number
    return line


def _written_keys(text: str) -> Iterator[tuple[int, _KeyPath]]:
    """The line number and path of each line that opens a table or sets a key."""
    table: _KeyPath = ()
    lists: dict[_KeyPath, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _keys_of(header.group(2))
            if header.group(1) == "[[":
                lists[table] = lists.get(table, -1) + 1
                table = (*table, str(lists[table]))
            yield number, table
        elif key := _KEY.match(line):
            yield number, (*table, *_keys_of(key.group(1)))


def _keys_of(field: str) -> _KeyPath:
    """Split `devices.carve[0].device` into `devices`, `carve`, `0`, `device`."""
    return tuple(
        part.strip("\"'") for part in _PART.findall(field.replace("[", ".").replace("]", ""))
    )


def _common_keys(one: _KeyPath, other: _KeyPath) -> int:
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
