"""Replay a recording of `gpu-studio devices --record` or a run's `hardware.jsonl`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from gpu_studio.contract import samples
from gpu_studio.contract.samples import AnySample, Fast, SampleError
from gpu_studio.hardware.accounting import lines_of
from gpu_studio.hardware.source import SimulationError

LONGEST_PAUSE = 10.0
"""Seconds: longer pauses of a recording are shortened to this."""
_LOOKED_AT = (samples.Fast, samples.Slow, samples.Pcie, samples.Processes, samples.Host)


def recorded(path: Path) -> Iterator[AnySample]:
    """The samples of a recording, without a truncated line.

    Raises SimulationError if it is none.
    """
    found = False
    for line in lines_of(path, follow=True):
        try:
            sample = samples.decode(line)
        except SampleError:
            continue
        if sample is not None:
            found = True
            yield sample
    if not found:
        raise SimulationError(
            f"{path} is no recording: make one with `gpu-studio devices --record FILE`"
        )


def recorded_cards(path: Path) -> list[dict[str, Any]]:
    """The cards at the start of a recording, as `gpu_studio.plan.Card`. Raises SimulationError."""
    cards: samples.Cards | None = None
    for sample in recorded(path):
        if isinstance(sample, samples.Cards):
            cards = sample
        elif isinstance(sample, Fast) and cards:
            return _plain(cards, sample)
    return _plain(cards, Fast(time=0.0, cards=[])) if cards else []


class Replay:
    """Replays a recording at its original pace, and from the start again once it is over.

    Every sample gets the current time; only the classes in `wanted` are sent. Raises
    SimulationError.
    """

    def __init__(
        self,
        path: Path,
        emit: Callable[[samples.Sample], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.wanted: frozenset[str] = frozenset()
        self._path = path
        self._emit = emit
        self._clock = clock
        self._samples = recorded(path)
        self._next: AnySample | None = next(self._samples)
        self._last = self._next.time
        self._due = clock()

    def step(self) -> float:
        """Send what is due; return the seconds until the next is."""
        while self._due <= self._clock():
            self._tell(self._next or self._rewound())
            self._next = next(self._samples, None)
            following = self._next.time if self._next else self._last + 1.0
            self._due += min(LONGEST_PAUSE, max(0.0, following - self._last))
            self._last = following
        return self._due - self._clock()

    def _rewound(self) -> AnySample:
        self._samples = recorded(self._path)
        first = next(self._samples)
        self._last = first.time
        return first

    def _tell(self, sample: AnySample) -> None:
        now = msgspec.structs.replace(sample, time=time.time())
        if isinstance(now, samples.SamplerStarted):
            now = msgspec.structs.replace(now, simulated=self._path.name)
        if not isinstance(now, _LOOKED_AT) or now.__struct_config__.tag in self.wanted:
            self._emit(now)


def _plain(cards: samples.Cards, fast: Fast) -> list[dict[str, Any]]:
    figures = {each.card: each for each in fast.cards}
    return [_card(facts, figures.get(facts.card)) for facts in cards.cards]


def _card(facts: samples.CardFacts, figures: samples.FastFigures | None) -> dict[str, Any]:
    used = figures.memory_used_mib if figures else None
    why = facts.gone or (figures.why.get("memory_used_mib", "") if figures else "")
    return {
        "uuid": facts.uuid,
        "name": facts.name,
        "bus_id": facts.bus_id,
        "total_mib": facts.total_mib,
        "used_mib": used,
        "reserved_mib": (figures.memory_reserved_mib if figures else None) or 0,
        "asleep": facts.asleep,
        "why_unknown": why if used is None else "",
    }
