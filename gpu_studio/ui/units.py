"""Figures as a person reads them: with their unit, and binary for memory."""

from __future__ import annotations

from gpu_studio.runs.wording import whole_duration
from gpu_studio.thousands import grouped

MINUS = "\u2212"
duration = whole_duration
"""A time span, as the command line and the report write it too."""


def number(value: int) -> str:
    """A whole number with its thousands apart: `16,384`."""
    return grouped(value)


def mib(value: int) -> str:
    """Mebibytes, as GiB with one decimal from 10 GiB on: `812 MiB`, `79.6 GiB`."""
    return f"{value / 1024:.1f} GiB" if value >= 10 * 1024 else f"{number(value)} MiB"


def used_of(used: int | None, total: int | None) -> str:
    """Memory in use of all there is, both in MiB: `52.1 / 79.6 GiB`; says so where a figure is not known."""
    if total is None:
        return "not known"
    if used is None:
        return f"{total / 1024:.1f} GiB, use not known"
    return f"{used / 1024:.1f} / {total / 1024:.1f} GiB"


def sentence(text: str) -> str:
    """`text` with a capital at its beginning and a full stop at its end; empty stays empty.

    The name of a field, as `training.optimizer`, and a path, as `images/circles`, keep their small letters.
    """
    first = text.split(" ")[0].rstrip(".")
    begun = text if any(each in first for each in "./\\") else text[:1].upper() + text[1:]
    return begun if not begun or begun.endswith((".", "!", "?")) else f"{begun}."


def plural(count: int, word: str, words: str = "") -> str:
    """`1 core`, `2 cores`; `words` where more than one is no word with an s: `2 processes`."""
    return f"{number(count)} {word if count == 1 else words or word + 's'}"
