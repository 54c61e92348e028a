"""Read plan files, and write them so that a crash leaves the old or the new one, never a part."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from gpu_studio.common.output_files import write_output
from gpu_studio.common.regular_files import opened
from gpu_studio.plan.problems import PlanError, Problem, printable
from gpu_studio.plan.tables import from_tables
from gpu_studio.plan.values import Plan
from gpu_studio.plan.writing import dumps

LARGEST_BYTES = 4 * 1024 * 1024
"""A plan is small enough to write by hand.

What is larger is no plan, and reading it would only cost time.
"""

_WHERE = re.compile(
    r"^(?P<why>.*) \(at (?P<where>line \d+, column \d+|end of document)\)$", re.DOTALL
)


def load(path: Path) -> Plan:
    """Read the plan in a file.

    Raises PlanError if the file is missing, cannot be read, is not UTF-8 or TOML, or has keys or
    values of the wrong kind, with every problem at once. Whether the plan makes sense is for
    `validate` to say.
    """
    source = printable(str(path))
    return loads(_text_of(path, source), source)


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

    The file is replaced whole or not at all. Raises OSError.
    """
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
        return _decoded(content, source)
    raise PlanError([problem], source)


def _bytes_of(path: Path) -> bytes:
    with opened(path, follow=True) as file:
        return file.read(LARGEST_BYTES + 1)


def _decoded(content: bytes, source: str) -> str:
    try:
        if len(content) <= LARGEST_BYTES:
            return content.decode("utf-8-sig")
        problem = Problem(
            source, "larger than 4 MiB", "this is no plan, which is a short text: check the name"
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
        return tomllib.loads(text)
    except UnicodeEncodeError:
        problem = Problem(source, "not UTF-8 text", "write it in UTF-8")
    except RecursionError:
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
