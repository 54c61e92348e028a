"""Names that distinguish runs.

They are number and name or, if space is short, the part that differs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Final

from gpu_studio.ui.runs.run_row import RunRow

_NUMBER: Final = re.compile(r"#[0-9]+ ")
_FEWEST: Final = 3
"""Letters of a name that say anything beside its number."""


def names_apart(rows: Sequence[RunRow]) -> dict[str, str]:
    """Return a unique title for each run, by its id."""
    return _numbered({row.id: row.title for row in rows})


def short_names(titles: Mapping[str, str], most: int) -> dict[str, str]:
    """Return the same in at most `most` letters, without the words that begin all names.

    No two are the same.
    """
    numbers = {
        run: found[0] if (found := _NUMBER.match(title)) else "" for run, title in titles.items()
    }
    names = _without_shared(
        {run: title.removeprefix(numbers[run]) for run, title in titles.items()}
    )
    return _numbered({run: _shortened(numbers[run], name, most) for run, name in names.items()})


def _without_shared(names: dict[str, str]) -> dict[str, str]:
    """Drop the words that begin all names; keep identical names whole."""
    words = [name.split(" ") for name in names.values()]
    if len(set(names.values())) < 2:
        return names
    shared = 0
    while (
        all(len(each) > shared + 1 for each in words) and len({each[shared] for each in words}) == 1
    ):
        shared += 1
    return {run: " ".join(name.split(" ")[shared:]) for run, name in names.items()}


def _shortened(number: str, name: str, most: int) -> str:
    space = most - len(number)
    if number and space < min(len(name), _FEWEST):
        return number.rstrip()
    return f"{number}{_without_middle(name, space)}"


def _without_middle(name: str, most: int) -> str:
    """Keep both ends of a name: they say more than its beginning alone."""
    end = max(most - 1, 1) // 2
    return (
        name
        if len(name) <= most
        else f"{name[: most - 1 - end].rstrip()}…{name[len(name) - end :].lstrip()}"
    )


def _numbered(names: dict[str, str]) -> dict[str, str]:
    """Number the names that are still the same."""
    seen: set[str] = set()
    found: dict[str, str] = {}
    for run, name in names.items():
        wanted = next(
            text for n in count(1) if (text := name if n == 1 else f"{name} ({n})") not in seen
        )
        seen.add(wanted)
        found[run] = wanted
    return found
