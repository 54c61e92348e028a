"""What one card did while it was watched, added up sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from gpu_studio.hardware.alerts import HARMLESS
from gpu_studio.hardware.energy import LONGEST_GAP, EnergyMeter, Source
from gpu_studio.hardware.host import MIB
from gpu_studio.hardware.samples import CardFacts, FastFigures, SlowFigures, Why

IDLE_BELOW: Final = 5
"""Per cent of utilisation under which a card that a run holds does nothing for it."""
NOT_RECORDED: Final = "not recorded"
Overlap = Callable[[float, float], float]
"""How many of the seconds between two moments count."""


@dataclass(frozen=True, slots=True)
class CardTotals:
    """What a card came to. A figure that is None is not known, and `why` says why under its name.

    `joules` cover `energy_seconds`, read from `joules_from`; `seconds` are those between samples near enough to each
    other, and `missing_seconds` those between samples too far apart. `throttled_seconds` are those in which anything
    held the clocks down that nobody chose, and `throttled` has them for each reason: reasons overlap. `idle_seconds`
    are those with a utilisation under 5 %, `busy_percent` is the mean utilisation, both of the seconds that count.
    `peak_used` is in bytes.
    """

    facts: CardFacts
    joules: float | None = None
    joules_from: Source = ""
    energy_seconds: float = 0.0
    seconds: float = 0.0
    missing_seconds: float = 0.0
    throttled: dict[str, float] | None = None
    throttled_seconds: float | None = None
    idle_seconds: float | None = None
    busy_percent: float | None = None
    peak_used: int | None = None
    peak_celsius: int | None = None
    why: Why = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the card calls itself; its key if it does not say."""
        return self.facts.name or self.facts.card


@dataclass(frozen=True, slots=True)
class _Held:
    """What holds the clocks down, `told` then and `counted` up to there."""

    told: float
    reasons: tuple[str, ...]
    counted: float


class CardAccount:
    """Adds up one card. `counted` says how many seconds between two moments the run was at work."""

    def __init__(self, facts: CardFacts, counted: Overlap) -> None:
        self.facts = facts
        self._counted = counted
        self._energy = EnergyMeter()
        self._time: float | None = None
        self._seconds = 0.0
        self._missing = 0.0
        self._idle = 0.0
        self._busy = 0.0
        self._looked = 0.0
        self._throttled: dict[str, float] | None = None
        self._throttled_seconds = 0.0
        self._held: _Held | None = None
        self._peak_mib: int | None = None
        self._celsius: int | None = None
        self._why: Why = {}

    def fast(self, time: float, figures: FastFigures) -> None:
        """Take in the quick figures of a moment."""
        begin = self._advance(time)
        self._why.update(figures.why)
        self._peak_mib = _greater(self._peak_mib, figures.memory_used_mib)
        if figures.power_w is not None:
            self._energy.power(time, figures.power_w)
        if figures.utilisation_percent is not None:
            self._work(begin, time, figures.utilisation_percent)

    def slow(self, time: float, figures: SlowFigures) -> None:
        """Take in the slow figures of a moment."""
        self._hold(time)
        self._why.update(figures.why)
        self._celsius = _greater(self._celsius, figures.temperature_c)
        if figures.energy_j is not None:
            self._energy.counter(time, figures.energy_j)
        self._held = None
        if figures.throttle is not None:
            self._throttled = self._throttled or {}
            reasons = tuple(reason for reason in figures.throttle if reason not in HARMLESS)
            self._held = _Held(time, reasons, time) if reasons else None

    def totals(self) -> CardTotals:
        """Return what it came to so far."""
        looked = self._looked > 0
        found = CardTotals(
            facts=self.facts,
            joules=self._energy.joules,
            joules_from=self._energy.source,
            energy_seconds=self._energy.seconds,
            seconds=self._seconds,
            missing_seconds=self._missing,
            throttled=self._throttled,
            throttled_seconds=None if self._throttled is None else self._throttled_seconds,
            idle_seconds=self._idle if looked else None,
            busy_percent=self._busy / self._looked if looked else None,
            peak_used=None if self._peak_mib is None else self._peak_mib * MIB,
            peak_celsius=self._celsius,
        )
        found.why.update({name: self._reason(asked) for name, asked in _ASKED.items() if getattr(found, name) is None})
        return found

    def _advance(self, time: float) -> float:
        """Count the time since the sample before; where it is too long, or runs backwards, none of it."""
        before, self._time = self._time, time
        self._hold(time)
        if before is None or time <= before:
            return time
        if time - before > LONGEST_GAP:
            self._missing += time - before
            return time
        self._seconds += time - before
        return before

    def _work(self, begin: float, end: float, percent: int) -> None:
        # The driver's utilisation is that of the moments before it is asked.
        seconds = self._counted(begin, end)
        self._looked += seconds
        self._busy += percent * seconds
        self._idle += seconds if percent < IDLE_BELOW else 0.0

    def _hold(self, time: float) -> None:
        """Count what held the clocks down, from where it was last counted up to now."""
        held = self._held
        if held is None or self._throttled is None or not 0 < time - held.told <= LONGEST_GAP:
            return
        passed = max(0.0, time - held.counted)
        for reason in held.reasons:
            self._throttled[reason] = self._throttled.get(reason, 0.0) + passed
        self._throttled_seconds += passed
        self._held = _Held(held.told, held.reasons, time)

    def _reason(self, asked: Iterable[str]) -> str:
        return next((self._why[name] for name in asked if name in self._why), self.facts.gone or NOT_RECORDED)


_ASKED: Final = {
    "joules": ("energy_j", "power_w"),
    "throttled": ("throttle",),
    "throttled_seconds": ("throttle",),
    "idle_seconds": ("utilisation_percent",),
    "busy_percent": ("utilisation_percent",),
    "peak_used": ("memory_used_mib",),
    "peak_celsius": ("temperature_c",),
}
"""The figures of a sample that each total is made of."""


def _greater(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)
