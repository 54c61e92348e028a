"""Problems of a plan, worded so that a person can fix them: the field, its value, what to do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

LONGEST_SHOWN = 60
FEW = 8
"""So many names can be read in one sentence."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: `field`, such as `training.batch_size`; `received`, its value.

    `advice`, what to do.
    """

    field: str
    received: str
    advice: str

    def __str__(self) -> str:
        end = "" if self.advice.endswith(("?", ".")) else "."
        return f"{self.field} is {self.received}: {self.advice}{end}"


@dataclass(frozen=True, slots=True)
class Unnamed(Problem):
    """Something is not named yet, such as a file: the plan is incomplete, but not wrong."""


class PlanError(Exception):
    """A plan that cannot be used, with every problem found.

    `source` says where the plan came from.
    """

    def __init__(self, problems: Iterable[Problem], source: str = "plan") -> None:
        self.problems = tuple(problems)
        self.source = source
        super().__init__(self.problems, source)

    def __str__(self) -> str:
        count = len(self.problems)
        heading = (
            f"{self.source} cannot be used; {count} "
            f"{'thing needs' if count == 1 else 'things need'} mending:"
        )
        return "\n".join([heading, *(f"  {problem}" for problem in self.problems)])


def shown(value: Any, longest: int = LONGEST_SHOWN) -> str:
    """A value as written in a plan, shortened to a readable length."""
    text = _as_text(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = value[: LONGEST_SHOWN * 2]
        return (
            json.dumps(text, ensure_ascii=False) if text.isprintable() else f'"{printable(text)}"'
        )
    if isinstance(value, int) and value.bit_length() > 200:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_as_text(each) for each in value[:LONGEST_SHOWN]) + "]"
    if isinstance(value, Mapping):
        pairs = list(value.items())[:LONGEST_SHOWN]
        return (
            "{ " + ", ".join(f"{printable(key)} = {_as_text(each)}" for key, each in pairs) + " }"
        )
    return str(value)


def printable(text: str) -> str:
    """The text with unprintable characters escaped."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def with_kind(value: Any) -> str:
    """A value and its type: `"ten" (a string)`."""
    return f"{shown(value)} ({kind_of(value)})"


def kind_of(value: Any) -> str:
    """TOML's name for the type of a value."""
    for kind, words in _KINDS:
        if isinstance(value, kind):
            return words
    return "a date or time"


_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a number"),
    (str, "a string"),
    (list, "a list"),
    (tuple, "a list"),
    (Mapping, "a table"),
    (type(None), "nothing"),
)


def listed(names: Iterable[str], last: str = "and") -> str:
    """Names as a list in a sentence: `a, b and c`."""
    every = [printable(each) for each in names]
    if len(every) < 2:
        return "".join(every)
    return f"{', '.join(every[:-1])} {last} {every[-1]}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to `name`; None if none is similar."""
    return _nearest(name.lower()[:LONGEST_SHOWN], tuple(known))


@lru_cache(maxsize=1024)  # a plan that is being typed is checked at every keystroke
def _nearest(name: str, known: tuple[str, ...]) -> str | None:
    names = {each.lower(): each for each in known}
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    return names[close[0]] if close else None


def choose_one(name: str, known: Iterable[str]) -> str:
    """Advice for an unknown name: the nearest one if any, and all of them if they are few."""
    names = list(known)
    close = nearest(name, names)
    if close is None:
        return f"choose one of {listed(names, 'or')}"
    return f"did you mean {printable(close)}?" + (
        f" There are {listed(names)}" if len(names) <= FEW else ""
    )


def path_to(path: str, key: str) -> str:
    """The path of a key in the table at `path`, safe to print whatever characters the key has."""
    plain = printable(key) if len(key) <= LONGEST_SHOWN else shown(key)
    return f"{path}.{plain}" if path else plain
