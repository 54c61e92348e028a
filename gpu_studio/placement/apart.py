"""How much less a card holds while a layer is computed, where other layers are elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

Lying = tuple[str, ...]
"""The layers that a tensor lies with: those that make it, and those that are yet to take it."""
MOST = 6
"""So many moments of a layer are told apart; of more some count as one that is as full as each."""
OTHERS = 8
"""And so many tensors that others have; of more the smallest count as there in any case."""


class Apart(NamedTuple):
    """How much `less` is held at a moment of a layer that is alone on its card, a sample.

    Of that so much is there where any of some `others` are on its card too.
    """

    less: int
    others: tuple[tuple[Lying, int], ...] = ()

    def on(self, here: Collection[str]) -> int:
        """How much less is held where these layers are on the card."""
        return self.less - sum(
            size for lying, size in self.others if not all(each not in here for each in lying)
        )


def less_apart(every: Sequence[Apart], here: Collection[str]) -> int:
    """How much less is held at every moment on a card that has these layers; none if not known."""
    return max(0, min((each.on(here) for each in every), default=0))


class _Moment(NamedTuple):
    """What is held where the layer is alone, and what others add to that."""

    alone: int
    others: Mapping[Lying, int]

    def covers(self, other: _Moment) -> bool:
        """Whether as much is held as in another one, wherever the layers are."""
        lacking = sum(
            max(0, size - self.others.get(lying, 0)) for lying, size in other.others.items()
        )
        return self.alone - other.alone >= lacking

    def joined(self, other: _Moment) -> _Moment:
        """One in which as much is held as in both."""
        keys = self.others.keys() | other.others.keys()
        both = {key: max(self.others.get(key, 0), other.others.get(key, 0)) for key in keys}
        return _Moment(max(self.alone, other.alone), both)

    @property
    def whole(self) -> int:
        """What is held where all are on one card."""
        return self.alone + sum(self.others.values())


class Moments:
    """The moments of a layer in which most is held, wherever the others are."""

    def __init__(self) -> None:
        self._fullest: list[_Moment] = []

    def __iter__(self) -> Iterator[_Moment]:
        return iter(self._fullest)

    def note(self, alone: int, others: Mapping[Lying, int]) -> None:
        """Count one in which so much is held where the layer is alone, and more with others."""
        if not others and any(each.alone >= alone for each in self._fullest):
            return
        self._add(_Moment(alone, others))
        while len(self._fullest) > MOST:
            one, two = min(
                combinations(self._fullest, 2),
                key=lambda pair: 2 * pair[0].joined(pair[1]).whole - sum(x.whole for x in pair),
            )
            self._add(one.joined(two))

    def _add(self, moment: _Moment) -> None:
        if not any(each.covers(moment) for each in self._fullest):
            kept = [each for each in self._fullest if not moment.covers(each)]
            self._fullest = [*kept, moment]


def apart_from(known: Sequence[tuple[int, Moments]]) -> tuple[Apart, ...]:
    """How much less than each total is held at its moments; nothing if it may be none at any."""
    found = Moments()
    for total, moments in known:
        for each in moments:
            found.note(each.alone - total, each.others)
    sizes: dict[Lying, int] = {}
    for each in found:
        for lying, size in each.others.items():
            sizes[lying] = max(size, sizes.get(lying, 0))
    named = sorted(sizes, key=lambda each: (-sizes[each], each))[:OTHERS]
    some = [_naming(each, named) for each in found]
    return tuple(sorted(some)) if all(each.less > 0 for each in some) else ()


def _naming(moment: _Moment, named: Collection[Lying]) -> Apart:
    """A moment in which only these others are told apart."""
    others = sorted((lying, size) for lying, size in moment.others.items() if lying in named)
    others_there = sum(size for lying, size in moment.others.items() if lying not in named)
    return Apart(-moment.alone - others_there, tuple(others))
