"""When each class of figures is due, so that the driver is occupied as little as possible."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

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
