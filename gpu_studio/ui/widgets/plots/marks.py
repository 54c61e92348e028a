"""What happened at a moment or for a while, as marks and shaded spans on the axis of a plot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from gpu_studio.ui.widgets.plots.decimate import Array, Indices
from gpu_studio.ui.widgets.plots.ruler import Ruler

MarkKind = Literal["epoch", "checkpoint", "best", "rate", "warning", "xid", "missing", "error"]
SpanKind = Literal["paused", "throttled"]

MEANINGS: Final[dict[str, str]] = {
    "epoch": "an epoch ends",
    "checkpoint": "a checkpoint was written",
    "best": "the best checkpoint",
    "rate": "the learning rate jumps",
    "warning": "a warning",
    "xid": "the driver reports an error of a card (XID, ECC)",
    "missing": "the loss is no number from here on",
    "error": "the run failed, or was lost",
    "paused": "the run was paused",
    "throttled": "a card's clocks were held down",
}
"""What each kind of mark means, in words."""

_APART: Final[dict[MarkKind, float]] = {"epoch": 16.0, "checkpoint": 10.0, "best": 10.0, "rate": 10.0}
_APART_ELSE = 8.0
_MOST_TOLD = 3
_STRIDES = (1, 2, 5)


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Marks of one kind: their sorted moments in seconds after the run's start, shape (marks,), and words for each."""

    kind: MarkKind
    times: Array
    words: Callable[[int], str]

    def seen(self, ruler: Ruler, start: float, end: float) -> tuple[int, Array]:
        """The number of the first mark between two places of the axis, and the places of all that are."""
        places = ruler.places(self.times)
        first, last = np.searchsorted(places, start, side="left"), np.searchsorted(places, end, side="right")
        return int(first), places[first:last]

    def drawn(self, first: int, pixels: Array) -> Indices:
        """Which of the marks at these sorted pixels are drawn, the first of them having the number `first`.

        Of those that would lie upon each other it is the first; of epochs every second, fifth, tenth and so on, so
        that they stand evenly.
        """
        apart = _APART.get(self.kind, _APART_ELSE)
        if self.kind == "epoch":
            return _strided(first, pixels, apart)
        return np.flatnonzero(np.diff(pixels // apart, prepend=-1) > 0)

    def told(self, ruler: Ruler, place: float, reach: float) -> Iterator[str]:
        """The words of the marks within `reach` of a place; of many the first and the last."""
        first, places = self.seen(ruler, place - reach, place + reach)
        count = len(places)
        if count <= _MOST_TOLD:
            yield from (self.words(first + number) for number in range(count))
        else:
            yield f"{count} marks from “{self.words(first)}” to “{self.words(first + count - 1)}”"


@dataclass(frozen=True, slots=True)
class Span:
    """A while, in seconds after the run's start, and what to say of it."""

    kind: SpanKind
    start: float
    end: float
    words: str


def ends(spans: Sequence[Span], ruler: Ruler) -> list[tuple[float, float]]:
    """Where each of the spans begins and ends on the axis."""
    starts, stops = (ruler.places(np.array(each, dtype=np.float64)) for each in _times(spans))
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


def _times(spans: Sequence[Span]) -> tuple[list[float], list[float]]:
    return [span.start for span in spans], [span.end for span in spans]


def told_at(marks: Sequence[Marks], spans: Sequence[Span], ruler: Ruler, place: float, reach: float) -> list[str]:
    """What is marked within `reach` of a place of the axis, in words, a line each."""
    words = [line for each in marks for line in each.told(ruler, place, reach)]
    for span, (start, end) in zip(spans, ends(spans, ruler), strict=True):
        if start - reach <= place <= end + reach:
            words.append(span.words)
    return words


def _strided(first: int, pixels: Array, apart: float) -> Indices:
    if len(pixels) < 2:
        return np.arange(len(pixels), dtype=np.intp)
    needed = apart * (len(pixels) - 1) / max(float(pixels[-1] - pixels[0]), 1.0)
    strides = (10**power * factor for power in range(12) for factor in _STRIDES)
    stride = next(stride for stride in strides if stride >= needed)
    return np.flatnonzero((np.arange(first, first + len(pixels)) + 1) % stride == 0)
