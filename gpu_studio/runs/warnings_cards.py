"""Recent figures of a run's cards from its recording, for the rules about idle and slow cards."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from gpu_studio.common.steady import SteadyClock
from gpu_studio.contract import Devices, LineTail
from gpu_studio.contract.samples import AnySample, CardFacts, Cards, Fast, SampleError, Slow, decode
from gpu_studio.hardware.alerts import HARMLESS
from gpu_studio.runs.results.run_cards import run_cards
from gpu_studio.runs.warnings import UTILISATION_SECONDS, CardSight

HEAD_BYTES: Final = 64 * 1024
LAST_BYTES: Final = 256 * 1024
STALE_SECONDS: Final = 15.0
LEAST_SAMPLES: Final = 5
LEAST_HELD: Final = 2
_COVERED: Final = 0.75
_WANTED: Final = tuple(f'{{"sample":"{kind}"'.encode() for kind in ("cards", "fast", "slow"))
Value = TypeVar("Value")
Points = deque[tuple[float, Value]]


class CardWatch:
    """Follows a recording from near its end; from its beginning, only which cards there are."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tail: LineTail | None = None
        self._known: dict[str, CardFacts] = {}
        self._busy: dict[str, Points[float]] = {}
        self._held: dict[str, Points[tuple[str, ...]]] = {}
        self._clock = SteadyClock()

    def read(self) -> None:
        """Read what is new. An unreadable recording gives nothing."""
        with suppress(OSError):
            if self._tail is None:
                self._begin()
            if self._tail is not None:
                self.take(_samples(self._tail.read()))

    def take(self, reported: Iterable[AnySample]) -> None:
        """Process samples, in order."""
        for sample in reported:
            time = self._clock.at(sample.time, sample.steady)
            match sample:
                case Cards():
                    self._know(sample.cards)
                case Fast():
                    for fast in sample.cards:
                        if fast.utilisation_percent is not None:
                            _add(self._busy, fast.card, time, float(fast.utilisation_percent))
                case Slow():
                    for slow in sample.cards:
                        if slow.throttle is not None:
                            reasons = tuple(
                                reason for reason in slow.throttle if reason not in HARMLESS
                            )
                            _add(self._held, slow.card, time, reasons)

    def sights(self, devices: Devices | None, now: float) -> tuple[CardSight, ...]:
        """The cards of the run's logical devices, over the seconds before `now`.

        `now` is by the machine's clock, which may have been set since the recording began.
        """
        now += self._clock.behind
        replicas = set(devices.replicas if devices else ())
        return tuple(
            CardSight(
                label=card.label,
                utilisation=_mean(self._busy.get(card.key, ()), now),
                held_by=_all_the_while(self._held.get(card.key, ()), now),
                trains=not replicas.isdisjoint(card.devices),
                lost=self._known[card.key].lost,
            )
            for card in run_cards(devices, self._known)
        )

    def _begin(self) -> None:
        if not self._path.exists():
            return
        self.take(
            sample
            for sample in _samples(LineTail(self._path).read(HEAD_BYTES))
            if isinstance(sample, Cards)
        )
        self._tail = LineTail(self._path)
        # The first line from there on is the end of one, and so not a sample.
        self._tail.offset = max(0, self._path.stat().st_size - LAST_BYTES)

    def _know(self, cards: Iterable[CardFacts]) -> None:
        for card in cards:
            self._known[card.card] = card
            for part in card.instances:
                self._known[part.card] = CardFacts(
                    card=part.card, uuid=part.card, name=part.name, gone=card.lost
                )


def _add(kept: dict[str, Points[Value]], card: str, time: float, value: Value) -> None:
    points = kept.setdefault(card, deque())
    points.append((time, value))
    while points[0][0] < time - UTILISATION_SECONDS:
        points.popleft()


def _mean(points: Iterable[tuple[float, float]], now: float) -> float | None:
    """The mean of the last seconds; None if they were not measured throughout."""
    recent = [(time, value) for time, value in points if now - UTILISATION_SECONDS <= time <= now]
    covered = recent[-1][0] - recent[0][0] if recent else 0.0
    if len(recent) < LEAST_SAMPLES or covered < _COVERED * UTILISATION_SECONDS:
        return None
    return sum(value for _, value in recent) / len(recent)


def _all_the_while(points: Iterable[tuple[float, tuple[str, ...]]], now: float) -> tuple[str, ...]:
    """The newest sample's reasons, if each sample of the last seconds, at least two, has some."""
    recent = [
        (time, reasons) for time, reasons in points if now - UTILISATION_SECONDS <= time <= now
    ]
    if (
        len(recent) < LEAST_HELD
        or now - recent[-1][0] > STALE_SECONDS
        or not all(reasons for _, reasons in recent)
    ):
        return ()
    return recent[-1][1]


def _samples(lines: Iterable[bytes]) -> Iterable[AnySample]:
    for line in lines:
        if line.startswith(_WANTED):
            with suppress(SampleError):
                if (sample := decode(line)) is not None:
                    yield sample
