"""Totals of a recording: energy, throttling, idle time, peaks of each card, in bounded memory.

`account` reads a whole recording; `CardAccount` adds up the samples of one card.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from gpu_studio.common.figures import MIB
from gpu_studio.common.safe_files import opened
from gpu_studio.common.steady import SteadyClock
from gpu_studio.contract.samples import (
    AnySample,
    CardFacts,
    Cards,
    Fast,
    FastFigures,
    SampleError,
    SamplerStarted,
    Slow,
    SlowFigures,
    Why,
    decode,
)
from gpu_studio.hardware.alerts import HARMLESS

LONGEST_LINE: Final = 4 * 1024 * 1024
MOST_CUT: Final = 16
"""So many times that long is no damaged line, but no recording: nothing more of it is read."""
LONGEST_RECORDING: Final = 1024 * 1024 * 1024
"""Bytes, four times as many as a recorder ever writes: what comes after them is not read."""
# The other kinds have no figures to add up, and the processes alone are most of a recording.
_WANTED: Final = tuple(
    f'{{"sample":"{kind}"'.encode() for kind in ("started", "cards", "fast", "slow")
)
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class MachineTotals:
    """The totals of every recorded card and MIG instance, by its key in the samples.

    `why` says why there is none.
    """

    cards: dict[str, CardTotals] = field(default_factory=dict)
    driver: str | None = None
    cuda: str | None = None
    simulated: str = ""
    practice: str = ""
    why: str = ""

    @property
    def known(self) -> dict[str, CardFacts]:
        """The known totals, by the same keys."""
        return {key: card.facts for key, card in self.cards.items()}


def account(recording: Path, counted: Sequence[Span] | None = None) -> MachineTotals | None:
    """Add up a recording (`hardware.jsonl`); None if there is none.

    `counted` are the spans (begin, end; seconds since 1970, UTC) in which an inactive card counts
    as idle; by default the whole recording. Lines that hold no sample, such as half a line, are
    skipped. Raises OSError if it cannot be read.
    """
    accounts = _Accounts(counted)
    try:
        for line in lines_of(recording):
            if line.startswith(_WANTED):
                with suppress(SampleError):
                    accounts.take(decode(line))
    except FileNotFoundError:
        return None
    return accounts.totals()


class _Accounts:
    """All cards of a recording."""

    def __init__(self, counted: Sequence[Span] | None) -> None:
        self._spans = counted
        self._cards: dict[str, CardAccount] = {}
        self._reported = Cards(time=0.0, cards=[])
        self._simulated = self._practice = ""
        self._clock = SteadyClock()

    def take(self, sample: AnySample | None) -> None:
        """Process a sample."""
        time = self._clock.at(sample.time, sample.steady) if sample is not None else 0.0
        match sample:
            case Fast():
                for quick in sample.cards:
                    self._of(quick.card).fast(time, quick)
            case Slow():
                for slow in sample.cards:
                    self._of(slow.card).slow(time, slow)
            case Cards():
                self._reported = sample
                for facts in _with_instances(sample.cards):
                    self._of(facts.card).know(time, facts)
            case SamplerStarted():
                self._simulated, self._practice = sample.simulated, sample.practice

    def totals(self) -> MachineTotals:
        """Return the totals."""
        cards = {key: card.totals() for key, card in self._cards.items()}
        return MachineTotals(
            cards,
            self._reported.driver,
            self._reported.cuda,
            self._simulated,
            self._practice,
            self._reported.why,
        )

    def _of(self, card: str) -> CardAccount:
        found = self._cards.get(card)
        if found is None:
            found = self._cards[card] = CardAccount(CardFacts(card=card), self._overlap)
        return found

    def _overlap(self, begin: float, end: float) -> float:
        if self._spans is None:
            return end - begin
        return sum(max(0.0, min(end, until) - max(begin, since)) for since, until in self._spans)


def _with_instances(cards: Sequence[CardFacts]) -> Iterator[CardFacts]:
    for card in cards:
        yield card
        for part in card.instances:
            yield CardFacts(
                card=part.card,
                uuid=part.card,
                name=part.name,
                total_mib=part.total_mib,
                gone=card.gone,
            )


def lines_of(recording: Path, *, follow: bool = False) -> Iterator[bytes]:
    """Yield the whole lines of a recording, without lines longer than any sample.

    `follow` is as in `safe_files`. Raises OSError.
    """
    with opened(recording, follow=follow) as file:
        cut = 0
        while (line := file.readline(LONGEST_LINE)) and file.tell() <= LONGEST_RECORDING:
            whole = line.endswith(b"\n")
            if whole and not cut:
                yield line
            cut = 0 if whole else cut + 1
            if cut > MOST_CUT:
                return


LONGEST_GAP: Final = 15.0
"""Seconds after which a reading is outdated: longer gaps are not interpolated."""

Source = Literal["counter", "power", ""]


class EnergyMeter:
    """Joules of a card. Times are in seconds and must be given in order.

    Between two readings of the driver's counter their difference counts. Before the first reading,
    after the last, and where the counter restarted because the driver was reloaded, the power is
    integrated by the trapezoidal rule over pairs of samples at most `LONGEST_GAP` apart.
    """

    def __init__(self) -> None:
        self._joules = 0.0
        self._seconds = 0.0
        self._counted = 0.0
        # The integral of the power since the last counter reading: used if no other one follows.
        self._pending_joules = 0.0
        self._pending_seconds = 0.0
        self._power: tuple[float, float] | None = None
        self._counter: tuple[float, float] | None = None

    @property
    def joules(self) -> float | None:
        """The energy of the seconds covered; None if there are none."""
        return self._joules + self._pending_joules if self.seconds > 0 else None

    @property
    def seconds(self) -> float:
        """The seconds that the energy covers."""
        return self._seconds + self._pending_seconds

    @property
    def source(self) -> Source:
        """Where most of the energy was read from."""
        if not self.seconds:
            return ""
        return "counter" if self._counted >= self.seconds / 2 else "power"

    def power(self, time: float, watts: float) -> None:
        """Record the card's power draw at this moment."""
        self._integrate(time, watts)
        self._power = time, watts

    def counter(self, time: float, joules: float) -> None:
        """Record the driver's counter at this moment."""
        self._cut(time)
        before, self._counter = self._counter, (time, joules)
        if before is not None and joules >= before[1]:
            passed = max(0.0, time - before[0])
            self._joules += joules - before[1]
            self._seconds += passed
            self._counted += passed
        else:
            self._joules += self._pending_joules
            self._seconds += self._pending_seconds
        self._pending_joules = self._pending_seconds = 0.0

    def _cut(self, time: float) -> None:
        """Integrate up to a counter reading, assuming constant power since the last sample."""
        if self._power is not None and time > self._power[0]:
            watts = self._power[1]
            near = self._integrate(time, watts)
            self._power = (time, watts) if near else None

    def _integrate(self, time: float, watts: float) -> bool:
        """Add the time since the last power sample; return whether that was recent enough."""
        if self._power is None or not 0 < time - self._power[0] <= LONGEST_GAP:
            return False
        passed = time - self._power[0]
        self._pending_joules += passed * (self._power[1] + watts) / 2
        self._pending_seconds += passed
        return True


IDLE_BELOW: Final = 5
"""Utilisation in percent below which a card counts as idle."""
NOT_RECORDED: Final = "not recorded"
Overlap = Callable[[float, float], float]
"""How many of the seconds between two moments count."""


@dataclass(frozen=True, slots=True)
class CardTotals:
    """The totals of a card. A figure that is None is unknown; `why` has the reason by its name.

    `joules` cover `energy_seconds`, read from `joules_from`; `seconds` are those between samples
    close enough to each other, and `missing_seconds` those between samples too far apart.
    `throttled_seconds` are those in which anything nobody chose limited the clocks, and `throttled`
    has them by reason: reasons overlap. `idle_seconds` are those with a utilisation under 5 %,
    `busy_percent` is the mean utilisation, both over the seconds that count. `peak_used` is in
    bytes. `lost_at` is when the card answered no more for the first time, and `lost` why.
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
    lost_at: float | None = None
    lost: str = ""
    why: Why = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The card's product name; its key if it gives none."""
        return self.facts.name or self.facts.card


@dataclass(frozen=True, slots=True)
class _Held:
    """What limits the clocks, when that was `reported`, and up to when it has been `counted`."""

    reported: float
    reasons: tuple[str, ...]
    counted: float


class CardAccount:
    """Adds up one card. `counted` returns how many seconds between two moments the run worked."""

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
        self._lost_at: float | None = None
        self._lost = ""
        self._why: Why = {}

    def know(self, time: float, facts: CardFacts) -> None:
        """Process what is known of the card from this moment on."""
        self.facts = facts
        if facts.lost and self._lost_at is None:
            self._lost_at, self._lost = time, facts.lost

    def fast(self, time: float, figures: FastFigures) -> None:
        """Process a sample of fast figures."""
        begin = self._advance(time)
        self._why.update(figures.why)
        self._peak_mib = _greater(self._peak_mib, figures.memory_used_mib)
        if figures.power_w is not None:
            self._energy.power(time, figures.power_w)
        if figures.utilisation_percent is not None:
            self._work(begin, time, figures.utilisation_percent)

    def slow(self, time: float, figures: SlowFigures) -> None:
        """Process a sample of slow figures."""
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
        """Return the totals so far."""
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
            lost_at=self._lost_at,
            lost=self._lost,
        )
        found.why.update(
            {
                name: self._reason(asked)
                for name, asked in _ASKED.items()
                if getattr(found, name) is None
            }
        )
        return found

    def _advance(self, time: float) -> float:
        """Count the time since the previous sample; none if that is too long or negative."""
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
        # The driver's utilisation is that of the time just before the query.
        seconds = self._counted(begin, end)
        self._looked += seconds
        self._busy += percent * seconds
        self._idle += seconds if percent < IDLE_BELOW else 0.0

    def _hold(self, time: float) -> None:
        """Count what limited the clocks since it was last counted."""
        held = self._held
        if held is None or self._throttled is None or not 0 < time - held.reported <= LONGEST_GAP:
            return
        passed = max(0.0, time - held.counted)
        for reason in held.reasons:
            self._throttled[reason] = self._throttled.get(reason, 0.0) + passed
        self._throttled_seconds += passed
        self._held = _Held(held.reported, held.reasons, time)

    def _reason(self, asked: Iterable[str]) -> str:
        return next(
            (self._why[name] for name in asked if name in self._why),
            self.facts.gone or NOT_RECORDED,
        )


_ASKED: Final = {
    "joules": ("energy_j", "power_w"),
    "throttled": ("throttle",),
    "throttled_seconds": ("throttle",),
    "idle_seconds": ("utilisation_percent",),
    "busy_percent": ("utilisation_percent",),
    "peak_used": ("memory_used_mib",),
    "peak_celsius": ("temperature_c",),
}
"""The sample figures from which each total is computed."""


def _greater(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)
