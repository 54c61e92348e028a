"""What runs are called beside each other: by their plans, and, where those are alike, by what tells them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count

from gpu_studio.runs.reading.summary import Summary
from gpu_studio.runs.wording import moment


def names_apart(runs: Sequence[Summary]) -> dict[str, str]:
    """A name for each run, by its id, no two of them the same: the plan's, then with its time, then with its id's end.

    A plan of no name at all is called by the run's id.
    """
    names = {run.id: run.plan or run.id for run in runs}
    for more in (lambda run: moment(run.created), lambda run: run.id.rpartition("-")[2]):
        alike = {name for name, times in Counter(names.values()).items() if times > 1}
        for run in runs:
            if names[run.id] in alike:
                names[run.id] = f"{names[run.id]} · {more(run)}"
    return _numbered(names)


def short_names(names: Mapping[str, str], most: int) -> dict[str, str]:
    """The same without the words with which all of them begin, and of `most` letters at most; none alike."""
    words = [name.split(" ") for name in names.values()]
    shared = 0
    while (
        len(words) > 1 and all(len(each) > shared + 1 for each in words) and len({each[shared] for each in words}) == 1
    ):
        shared += 1
    rest = {run: " ".join(name.split(" ")[shared:]) for run, name in names.items()}
    return _numbered({run: _without_middle(name, most) for run, name in rest.items()})


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
