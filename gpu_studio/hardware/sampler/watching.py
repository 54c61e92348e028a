"""The sampling loop: query what is due, let cards sleep, back off after failures, write samples."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from gpu_studio import __version__
from gpu_studio.common.figures import MIB
from gpu_studio.contract import samples
from gpu_studio.hardware import nvml
from gpu_studio.hardware.host import PciCard
from gpu_studio.hardware.nvml import FAST, PCIE, SLOW, Unknown
from gpu_studio.hardware.sampler import schedule
from gpu_studio.hardware.sampler.card import Answerer, Events
from gpu_studio.hardware.sampler.driver import Driver
from gpu_studio.hardware.sampler.processes import HostPeople, HostWatch, People, is_used
from gpu_studio.hardware.sampler.schedule import Schedule
from gpu_studio.hardware.source import MachineSource


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


NAMES: Final = ("nvlink_sent_mib_s", "nvlink_received_mib_s")
EVERY_LINK: Final = 2**32 - 1
FIELDS: Final = [(138, EVERY_LINK), (139, EVERY_LINK)]
"""NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX of all links together.

The payload, in KiB since the driver's start.
"""
RESTARTED: Final = "the card's counters began anew"
KIB_PER_MIB: Final = 1024


class NvlinkRates:
    """Remembers each card's counters until the next query."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[float, tuple[int, ...]]] = {}
        self._settled: dict[str, Unknown] = {}

    def forget(self) -> None:
        """Start over: the cards may be different ones."""
        self._before, self._settled = {}, {}

    def read(self, card: Answerer, now: float) -> dict[str, Any]:
        """The rates in MiB/s by name, and under "why" the reasons for unknown ones.

        `now` is of a monotonic clock, in seconds. A card without NVLink is queried once.
        """
        counts = self._settled.get(card.key) or _counts(card)
        if isinstance(counts, Unknown):
            if counts.is_lasting:
                self._settled[card.key] = counts
            self._before.pop(card.key, None)
            return {"why": dict.fromkeys(NAMES, counts.why)}
        before, self._before[card.key] = self._before.get(card.key), (now, counts)
        return _rates(before, now, counts)


def _rates(
    before: tuple[float, tuple[int, ...]] | None, now: float, counts: tuple[int, ...]
) -> dict[str, Any]:
    if before is None or now <= before[0]:
        return {"why": dict.fromkeys(NAMES, samples.MEASURED_NEXT)}
    more = [new - old for new, old in zip(counts, before[1], strict=True)]
    if min(more) < 0:
        return {"why": dict.fromkeys(NAMES, RESTARTED)}
    seconds = now - before[0]
    return {name: kib / KIB_PER_MIB / seconds for name, kib in zip(NAMES, more, strict=True)} | {
        "why": {}
    }


def _counts(card: Answerer) -> tuple[int, ...] | Unknown:
    fields = card.answer_once("nvlink", ("nvmlDeviceGetFieldValues", FIELDS))
    if isinstance(fields, Unknown):
        return fields
    failed = next((field.nvmlReturn for field in fields if field.nvmlReturn), 0)
    if failed:
        return Unknown(nvml.WHY.get(failed, f"the driver answered with error {failed}"), failed)
    return tuple(int(field.value.ullVal) for field in fields)


SHORTEST_RETRY, LONGEST_RETRY = 1.0, 60.0
PAGE = os.sysconf("SC_PAGE_SIZE")

Emit = Callable[[samples.Sample], None]


class Request(msgspec.Struct, frozen=True):
    """A request to the sampler, one JSON object per line; null leaves a setting unchanged.

    `classes` are those of `schedule.CLASSES`; `rate` is that of the fast figures, per second;
    `retry` reopens the driver.
    """

    classes: list[str] | None = None
    rate: float | None = None
    retry: bool = False


class Sampler:
    """Queries the machine when something is due, one query at a time: the driver serialises them.

    With `careful`, it reports each card before querying it; cards with the NVML indices `left_out`
    are not queried until a retry is requested.
    """

    def __init__(
        self,
        source: MachineSource,
        emit: Emit,
        *,
        folder: Path | None = None,
        left_out: Iterable[int] = (),
        careful: bool = False,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._source, self._emit, self._clock, self._now = source, emit, clock, now
        self.driver = Driver(source)
        self.driver.left_out = frozenset(left_out)
        if careful:
            self.driver.about = self._tell_of
        self.schedule = Schedule(clock())
        self._events = Events(self.driver.calls)
        self._people = People(source.known)
        self._host = HostWatch(folder)
        self._host_people = HostPeople()
        self._nvlink = NvlinkRates()
        self._resting = Resting()
        self._retry = BackOff(SHORTEST_RETRY, LONGEST_RETRY)
        self._turn = 0
        self._cost = (clock(), time.process_time())
        self._looks: dict[str, Callable[[], None]] = {
            schedule.FAST: self._look_fast,
            schedule.SLOW: self._look_slow,
            schedule.PCIE: self._look_pcie,
            schedule.PROCESSES: self._look_processes,
            schedule.HOST: lambda: self._emit(self._host.look(self._now())),
            schedule.HOST_PROCESSES: lambda: self._emit(self._host_people.look(self._now())),
            schedule.EVENTS: self._look_events,
            schedule.WATCH: self._watch,
            schedule.BEAT: self._beat,
        }

    def begin(self) -> None:
        """Report that the sampler is running, and open the driver.

        Raises RenewError as `step` does.
        """
        self._emit(
            samples.SamplerStarted(
                time=self._now(),
                pid=os.getpid(),
                gpu_studio=__version__,
                simulated=self._source.simulated,
                practice=self._source.practice,
            )
        )
        self._open()

    def step(self) -> float:
        """Do what is due; return the seconds until the next is.

        Raises RenewError if a new process is needed.
        """
        now = self._clock()
        if self._retry.is_due(now):
            self._open()
        for name in self.schedule.due(now):
            self._looks[name]()
            self._lose_the_lost()
        now = self._clock()
        wait = self.schedule.wait(now)
        return wait if self._retry.due is None else max(0.0, min(wait, self._retry.due - now))

    def request(self, wanted: Request) -> None:
        """Carry out a request."""
        now = self._clock()
        if wanted.rate is not None:
            self.schedule.set_rate(wanted.rate, now)
        if wanted.classes is not None:
            self.schedule.want(wanted.classes, now)
        if wanted.retry:
            self.driver.left_out = frozenset()
            self._retry.at_once(now)

    def close(self) -> None:
        """Release the driver."""
        self._events.forget()
        self.driver.close()

    def _open(self) -> None:
        self._emit(samples.Opening(time=self._now()))
        self._events.forget()
        self._nvlink.forget()
        self.driver.resting = self._resting.bus_ids
        self.driver.open()
        self._events.watch(self.driver.cards)
        self.schedule.turns = max(1, len(self.driver.cards))
        self._emit(self.driver.reported(self._now()))
        if self.driver.is_whole:
            self._retry.succeeded()
        else:
            self._retry.failed(self._clock())
        self.schedule.again(self._clock())

    def _lose_the_lost(self) -> None:
        lost = [card for card in self.driver.cards if card.loss]
        if not lost:
            return
        for card in lost:
            self.driver.lose(card)
        self._emit(self.driver.reported(self._now()))
        if self._retry.due is None:
            self._retry.failed(self._clock())

    def _look_fast(self) -> None:
        figures: list[samples.FastFigures] = []
        for card in self.driver.each():
            answering: list[Answerer] = [card, *card.instances]
            figures += [samples.FastFigures(card=each.key, **each.read(FAST)) for each in answering]
        self._emit(samples.Fast(time=self._now(), cards=figures))
        self._let_sleep({each.card: each.utilisation_percent for each in figures})

    def _let_sleep(self, utilisation: dict[str, int | None]) -> None:
        """Release unused cards that may sleep; one that does not say counts as used."""
        now = self._clock()
        may_sleep = {card.bus_id for card in self.driver.listed if card.may_sleep}
        for card in [card for card in self.driver.cards if card.facts.bus_id in may_sleep]:
            self._resting.saw(card.facts.bus_id, now, busy=utilisation.get(card.key) != 0)
            if not self._resting.is_idle(card.facts.bus_id, now):
                continue
            if is_used(card):
                self._resting.saw(card.facts.bus_id, now, busy=True)
            else:
                self._resting.begin(card.facts.bus_id, now)
                self._retry.at_once(now)

    def _look_slow(self) -> None:
        figures = [
            samples.SlowFigures(card=card.key, **card.read(SLOW)) for card in self.driver.each()
        ]
        self._emit(samples.Slow(time=self._now(), cards=figures))

    def _look_pcie(self) -> None:
        if self.driver.cards:
            self._turn = (self._turn + 1) % len(self.driver.cards)
            card = self.driver.cards[self._turn]
            self.driver.about(card.facts.index or 0)
            bus, links = card.read(PCIE), self._nvlink.read(card, self._clock())
            figures = samples.PcieFigures(
                card=card.key, **(bus | links | {"why": bus["why"] | links["why"]})
            )
            self._emit(samples.Pcie(time=self._now(), cards=[figures]))

    def _look_processes(self) -> None:
        self._emit(self._people.look(self.driver.each(), self._now()))

    def _look_events(self) -> None:
        for event in self._events.happened(self._now()):
            self._emit(event)

    def _watch(self) -> None:
        if self.driver.has_changed() or self._resting.follow(self.driver.listed, self._clock()):
            self._retry.at_once(self._clock())

    def _tell_of(self, index: int) -> None:
        self._emit(samples.Asking(time=self._now(), index=index))

    def _beat(self) -> None:
        before, used_before = self._cost
        self._cost = now, used = self._clock(), time.process_time()
        share = (used - used_before) / (now - before) * 100 if now > before else 0.0
        beat = samples.Beat(
            time=self._now(),
            cpu_percent=round(share, 3),
            memory_mib=round(_resident_mib(), 1),
            nvml_calls=self.driver.calls.count,
        )
        self._emit(beat)


def _resident_mib() -> float:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / MIB
    except (OSError, ValueError, IndexError):
        import psutil

        return float(psutil.Process().memory_info().rss) / MIB
