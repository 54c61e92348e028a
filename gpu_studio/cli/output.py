"""Text and JSON for whoever reads the command's output."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any


class RefusedError(Exception):
    """A command that cannot be done: why, and what to do, in words."""


def say(text: str = "") -> None:
    """Write a line of result to stdout, at once: it may be a pipe that somebody follows."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Write a line that is no result (a refusal, a hint) to stderr."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def say_json(document: Any, *, indent: int | None = 2) -> None:
    """Write one JSON document to stdout; `indent` None puts it on one line."""
    say(json.dumps(document, indent=indent, ensure_ascii=False))


def say_table(rows: Sequence[Sequence[str]]) -> None:
    """Write rows of words in columns, the headings first."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        say("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
