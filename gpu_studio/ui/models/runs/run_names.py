"""What runs are called beside each other: by number and name, and, where room is short, by what tells them apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Final

from gpu_studio.ui.models.runs.run_row import RunRow

_NUMBER: Final = re.compile(r"#[0-9]+ ")
_FEWEST: Final = 3
"""Letters of a name that say anything beside its number."""


def names_apart(rows: Sequence[RunRow]) -> dict[str, str]:
    """A title for each run, by its id, no two of them the same, whatever their folders hold."""
    return _numbered({row.id: row.title for row in rows})


def short_names(titles: Mapping[str, str], most: int) -> dict[str, str]:
    """The same, of `most` letters at most, without the words with which all names begin; none alike.

    A number stays whole: it tells runs of one name apart.
    """
    numbers = {run: found[0] if (found := _NUMBER.match(title)) else "" for run, title in titles.items()}
    names = _without_shared({run: title.removeprefix(numbers[run]) for run, title in titles.items()})
    return _numbered({run: _shortened(numbers[run], name, most) for run, name in names.items()})


def _without_shared(names: dict[str, str]) -> dict[str, str]:
    """Names without the words with which all of them begin; whole where they are one and the same."""
    words = [name.split(" ") for name in names.values()]
    if len(set(names.values())) < 2:
        return names
    shared = 0
    while all(len(each) > shared + 1 for each in words) and len({each[shared] for each in words}) == 1:
        shared += 1
    return {run: " ".join(name.split(" ")[shared:]) for run, name in names.items()}


def _shortened(number: str, name: str, most: int) -> str:
    room = most - len(number)
    if number and room < min(len(name), _FEWEST):
        return number.rstrip()
    return f"{number}{_without_middle(name, room)}"


def _without_middle(name: str, most: int) -> str:
    """Both ends of a name tell more of it than its beginning."""
    end = max(most - 1, 1) // 2
    return name if len(name) <= most else f"{name[: most - 1 - end].rstrip()}…{name[len(name) - end :].lstrip()}"


def _numbered(names: dict[str, str]) -> dict[str, str]:
    """Whatever is still alike gets a number."""
    seen: set[str] = set()
    found: dict[str, str] = {}
    for run, name in names.items():
        wanted = next(text for n in count(1) if (text := name if n == 1 else f"{name} ({n})") not in seen)
        seen.add(wanted)
        found[run] = wanted
    return found
