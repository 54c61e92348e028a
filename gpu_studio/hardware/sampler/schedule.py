"""When the sampler looks, so that the driver is occupied as little as possible.

`Schedule` tells when each class of figures is due, `BackOff` when to retry after failures, and
`Resting` which cards are left alone so that they can sleep.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gpu_studio.hardware.host import PciCard

FAST, SLOW, PROCESSES, PCIE, HOST = "fast", "slow", "processes", "pcie", "host"
HOST_PROCESSES: Final = "host_processes"
CLASSES: Final = (FAST, SLOW, PROCESSES, PCIE, HOST, HOST_PROCESSES)
"""The classes of figures."""
EVENTS, WATCH, BEAT = "events", "watch", "beat"
ALWAYS: Final = (EVENTS, WATCH, BEAT)
PERIODS: Final = {
    SLOW: 5.0,
    PROCESSES: 2.0,
    PCIE: 4.0,
    HOST_PROCESSES: 5.0,
    EVENTS: 1.0,
    WATCH: 5.0,
    BEAT: 2.0,
}
"""Seconds between two samples; that of PCIe is for all cards, which take turns."""
LEAST_RATE, MOST_RATE, USUAL_RATE = 0.2, 10.0, 1.0
HOST_OFTENEST, HOST_SELDOMEST = 0.25, 5.0


class Schedule:
    """What is due now, and when the next is. Times are of a monotonic clock, in seconds."""

    def __init__(
        self, now: float, classes: Iterable[str] = CLASSES, rate: float = USUAL_RATE
    ) -> None:
        self.rate = USUAL_RATE
        self.turns = 1
        self._due: dict[str, float] = {}
        self.wanted: frozenset[str] = frozenset()
        self.set_rate(rate, now)
        self.want(classes, now)

    def want(self, classes: Iterable[str], now: float) -> None:
        """Sample exactly these classes from now on. A new one is due at once.

        Unknown ones are ignored.
        """
        self.wanted = frozenset(classes) & frozenset(CLASSES)
        # A beat reports on the time before it, so the first one is not due at once.
        first = {BEAT: now + PERIODS[BEAT]}
        names = filter(self._is_on, (*CLASSES, *ALWAYS))
        self._due = {name: self._due.get(name, first.get(name, now)) for name in names}

    def set_rate(self, rate: float, now: float) -> None:
        """Set how often per second the fast figures are due, within bounds.

        A higher rate takes effect at once.
        """
        self.rate = min(MOST_RATE, max(LEAST_RATE, rate))
        for name in {FAST, HOST} & self._due.keys():
            self._due[name] = min(self._due[name], now + self.period(name))

    def again(self, now: float) -> None:
        """Make everything due at once: the cards have changed."""
        self._due |= dict.fromkeys(self.wanted, now)

    def due(self, now: float) -> list[str]:
        """The classes that are due, each only once however late this is called."""
        names = [name for name, time in self._due.items() if time <= now]
        for name in names:
            step = self.period(name)
            later = self._due[name] + step
            self._due[name] = later if later > now else now + step
        return names

    def period(self, name: str) -> float:
        """The seconds between two samples of a class."""
        if name == FAST:
            return 1 / self.rate
        if name == HOST:
            return min(HOST_SELDOMEST, max(HOST_OFTENEST, 1 / self.rate))
        return PERIODS[name] / (self.turns if name == PCIE else 1)

    def wait(self, now: float) -> float:
        """Seconds until something is due."""
        return max(0.0, min(self._due.values()) - now)

    def _is_on(self, name: str) -> bool:
        if name == EVENTS:
            return bool(self.wanted - {HOST, HOST_PROCESSES})
        return name in self.wanted or name in ALWAYS


class BackOff:
    """Each failure doubles the wait, from `shortest` to `longest` seconds; a success resets it."""

    def __init__(self, shortest: float, longest: float) -> None:
        self._shortest = shortest
        self._longest = longest
        self._wait = 0.0
        self.due: float | None = None

    def failed(self, now: float) -> None:
        """Record a failure at `now`; retry later."""
        self._wait = min(self._longest, max(self._shortest, 2 * self._wait))
        self.due = now + self._wait

    def succeeded(self) -> None:
        """Record a success; there is nothing to retry."""
        self._wait = 0.0
        self.due = None

    def at_once(self, now: float) -> None:
        """Retry now, whatever happened before."""
        self.due = now

    def is_due(self, now: float) -> bool:
        """Whether it is time to retry."""
        return self.due is not None and now >= self.due


IDLE_AFTER: Final = 120.0
"""Seconds without use after which a card is released."""
SHORTEST_REST, LONGEST_REST = 60.0, 960.0
"""Seconds for which it is left alone.

Twice as many each time in vain, because asking begins its time to sleep anew.
"""


class Resting:
    """Tracks the cards that may sleep, by PCI address.

    Times are of a monotonic clock, in seconds.
    """

    def __init__(self) -> None:
        self.bus_ids: frozenset[str] = frozenset()
        self._idle_since: dict[str, float] = {}
        self._rests: dict[str, float] = {}
        self._until: dict[str, float] = {}
        self._slept: set[str] = set()

    def saw(self, bus_id: str, now: float, *, busy: bool) -> None:
        """Record that a card was queried, and whether it was in use."""
        if busy:
            self._idle_since.pop(bus_id, None)
            self._rests.pop(bus_id, None)
        else:
            self._idle_since.setdefault(bus_id, now)

    def is_idle(self, bus_id: str, now: float) -> bool:
        """Whether a card has been unused long enough to go to sleep."""
        return now - self._idle_since.get(bus_id, now) >= IDLE_AFTER

    def begin(self, bus_id: str, now: float) -> None:
        """Stop querying a card."""
        rest = min(LONGEST_REST, 2 * self._rests.get(bus_id, SHORTEST_REST / 2))
        self._rests[bus_id], self._until[bus_id] = rest, now + rest
        self._idle_since.pop(bus_id, None)
        self.bus_ids |= {bus_id}

    def follow(self, listed: Iterable[PciCard], now: float) -> bool:
        """Read the kernel's list of cards; return whether some card is to be queried again."""
        before = self.bus_ids
        for card in listed:
            if card.bus_id in self.bus_ids and self._is_over(card, now):
                self.bus_ids -= {card.bus_id}
                self._slept.discard(card.bus_id)
        return self.bus_ids != before

    def _is_over(self, card: PciCard, now: float) -> bool:
        if card.asleep:
            self._slept.add(card.bus_id)
            return False
        if card.bus_id in self._slept:
            # It slept, and a program woke it.
            self._rests.pop(card.bus_id, None)
            return True
        return now >= self._until[card.bus_id]
