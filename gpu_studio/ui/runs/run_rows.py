"""Runs as rows of the Runs page: which are shown, in which order, and under what names.

A row has a run's events, the user's labels, and its energy. Typed words and pressed chips
filter the rows. Live ones are always on top; then a column decides, and then the newest. A name
is a run's number and name or, if space is short, the part that differs from the others.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, Literal

from gpu_studio.contract import State
from gpu_studio.runs.labels import NOTHING, Labels, title
from gpu_studio.runs.reading.epochs import higher_is_better
from gpu_studio.runs.reading.summary import Summary


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run.

    `joules` is what its cards used while it ran; None if no card reported it, or if it is unread
    yet.
    """

    summary: Summary
    labels: Labels = NOTHING
    joules: float | None = None

    @property
    def id(self) -> str:
        """The run's id."""
        return self.summary.id

    @property
    def name(self) -> str:
        """The run's name: the user's, else its plan's."""
        return self.labels.name or self.summary.plan or self.id

    @property
    def title(self) -> str:
        """Its number and its name."""
        return title(self.summary.number, self.name)

    @property
    def state(self) -> State:
        """How the run is."""
        return self.summary.state

    @property
    def live(self) -> bool:
        """Whether the trainer is at work."""
        return self.summary.live

    @property
    def peak(self) -> int | None:
        """The most bytes that any device held that the run trained on."""
        return max(self.summary.peaks_at_work.values(), default=None)

    @property
    def state_words(self) -> str:
        """The state and its reason."""
        return self.summary.state_words


Chip = Literal["all", "live", "finished", "stopped", "failed"]
CHIPS: dict[Chip, str] = {
    "all": "All",
    "live": "Live",
    "finished": "Finished",
    "stopped": "Stopped",
    "failed": "Failed",
}

_TIME = re.compile(r"\d{8}T\d{6}Z-")
_DAY = 8
"""Digits of a day, with which an id begins."""


def _names(row: RunRow) -> Iterable[str]:
    """What a run is called. Its id without its time: that has nearly every number in it."""
    return row.title, row.summary.plan, _TIME.sub("", row.id, count=1)


_FIELDS: dict[str, Callable[[RunRow], Iterable[str]]] = {
    "name": _names,
    "tag": lambda row: row.labels.tags,
    "strategy": lambda row: (row.summary.strategy,),
    "model": lambda row: (row.summary.model,),
    "state": lambda row: (row.state_words,),
    "note": lambda row: (row.labels.note,),
}
HELP = (
    f"Words, or {', '.join(f'{field}:' for field in _FIELDS)} and a word; a "
    "minus in front leaves such runs out"
)
# A word, or several in quotation marks; the closing mark may be missing while typing.
_TERM = re.compile(r'(-?)(?:(\w+):)?(?:"([^"]*)"?|(\S+))')


@dataclass(frozen=True, slots=True)
class Term:
    """One thing asked for: `text` (case folded) in `field`, in any if that is empty.

    Or, where `absent`, in none.
    """

    text: str
    field: str = ""
    absent: bool = False

    def fits(self, row: RunRow) -> bool:
        """Return whether the run matches."""
        fields = (self.field,) if self.field else tuple(_FIELDS)
        found = any(
            self.text in word.casefold() for field in fields for word in _FIELDS[field](row)
        ) or ("name" in fields and self._begins(row.id.casefold()))
        return found is not self.absent

    def _begins(self, run: str) -> bool:
        """Whether an id begins so, with a whole day at least."""
        return len(self.text) >= _DAY and run.startswith(self.text)


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Runs that match every term and the chip, and have all the tags."""

    terms: tuple[Term, ...] = ()
    chip: Chip = "all"
    tags: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Return whether it excludes anything."""
        return bool(self.terms or self.tags) or self.chip != "all"

    def fits(self, row: RunRow) -> bool:
        """Return whether the run is shown."""
        return (
            self._fits_chip(row)
            and self.tags <= set(row.labels.tags)
            and all(term.fits(row) for term in self.terms)
        )

    def _fits_chip(self, row: RunRow) -> bool:
        if self.chip == "live":
            return row.live
        if self.chip == "failed":
            return row.state in ("failed", "lost")
        return self.chip in ("all", row.state)


def parse(text: str) -> tuple[Term, ...]:
    """Parse the user's text: `digits state:failed tag:"to show" -mirrored`.

    An unknown field counts as a word.
    """
    return tuple(term for match in _TERM.finditer(text) if (term := _term(match)).text)


def known_tags(rows: Iterable[RunRow]) -> list[str]:
    """Return every tag that a run has, the most frequent first."""
    counted = Counter(tag for row in rows for tag in row.labels.tags)
    return sorted(counted, key=lambda tag: (-counted[tag], tag.casefold()))


def _term(match: re.Match[str]) -> Term:
    minus, field, quoted, word = match.groups()
    text = word if quoted is None else quoted
    if field and field.casefold() not in _FIELDS:
        # As in `GPU:1`, which may occur in the reason of a failure.
        return Term(f"{field}:{text}".casefold(), absent=bool(minus))
    return Term(text.casefold(), (field or "").casefold(), bool(minus))


@dataclass(frozen=True, slots=True)
class Order:
    """The column, and whether the greatest comes first. By default the newest."""

    column: str = "started"
    descending: bool = True

    def __str__(self) -> str:
        return f"{self.column}:{'down' if self.descending else 'up'}"

    @classmethod
    def read(cls, text: str) -> Order:
        """Parse an order written by `str`; the default for anything else."""
        column, _, way = text.partition(":")
        return (
            cls(column, way == "down") if column in SORT_KEYS and way in ("up", "down") else cls()
        )


def arranged(rows: Iterable[RunRow], order: Order) -> list[RunRow]:
    """Return the rows in this order.

    A run without the sorted figure comes last in either direction.
    """
    newest = sorted(rows, key=lambda row: row.id, reverse=True)
    newest.sort(key=lambda row: row.summary.created, reverse=True)
    key = SORT_KEYS[order.column]
    known = [row for row in newest if key(row) is not None]
    known.sort(key=key, reverse=order.descending)
    whole = known + [row for row in newest if key(row) is None]
    return [row for row in whole if row.live] + [row for row in whole if not row.live]


def _best_value(row: RunRow) -> float | None:
    """Return a key that sorts the worst first, whatever the metric.

    So an accuracy and a loss sort alike.
    """
    best = row.summary.best
    if best is None or not math.isfinite(best.value):
        return None
    return best.value if higher_is_better(best.metric) else -best.value


SORT_KEYS: dict[str, Callable[[RunRow], Any]] = {
    "run": lambda row: row.name.casefold(),
    "state": lambda row: row.state_words.casefold(),
    "started": lambda row: row.summary.created,
    "duration": lambda row: row.summary.seconds,
    "best": _best_value,
    "memory": lambda row: row.peak,
    "energy": lambda row: row.joules,
}
"""What each column that can be sorted is sorted by; None is not known."""


_NUMBER: Final = re.compile(r"#[0-9]+ ")
_FEWEST_LETTERS: Final = 3
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
    if number and space < min(len(name), _FEWEST_LETTERS):
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
