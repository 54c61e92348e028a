"""Which runs are shown: the typed words, and the pressed chips."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from gpu_studio.ui.runs.run_row import RunRow

Chip = Literal["all", "live", "finished", "stopped", "failed"]
CHIPS: dict[Chip, str] = {
    "all": "All",
    "live": "Live",
    "finished": "Finished",
    "stopped": "Stopped",
    "failed": "Failed",
}

_FIELDS: dict[str, Callable[[RunRow], Iterable[str]]] = {
    "name": lambda row: (row.title, row.summary.plan, row.id),
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
        )
        return found is not self.absent


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
