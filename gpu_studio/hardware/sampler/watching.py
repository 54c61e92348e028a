"""The sampler itself: does what is due, and tells what it saw."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from gpu_studio import __version__
from gpu_studio.hardware import samples
from gpu_studio.hardware.nvml import MIB
from gpu_studio.hardware.sampler import schedule
from gpu_studio.hardware.sampler.backoff import BackOff
from gpu_studio.hardware.sampler.card import Answerer
from gpu_studio.hardware.sampler.driver import Driver
from gpu_studio.hardware.sampler.events import Events
from gpu_studio.hardware.sampler.host import HostWatch
from gpu_studio.hardware.sampler.host_people import HostPeople
from gpu_studio.hardware.sampler.nvlink import NvlinkRates
from gpu_studio.hardware.sampler.people import People, is_used
from gpu_studio.hardware.sampler.questions import FAST, PCIE, SLOW
from gpu_studio.hardware.sampler.resting import Resting
from gpu_studio.hardware.sampler.schedule import Schedule
from gpu_studio.hardware.source import Source

SHORTEST_RETRY, LONGEST_RETRY = 1.0, 60.0
PAGE = os.sysconf("SC_PAGE_SIZE")

Emit = Callable[[samples.Sample], None]


class Request(msgspec.Struct, frozen=True):
    """What an owner asks of its sampler, a JSON object a line: null leaves a thing as it is.

    `classes` are those of `schedule.CLASSES`; `rate` is of the fast figures, a second; `retry` opens the driver anew.
    """

    classes: list[str] | None = None
    rate: float | None = None
    retry: bool = False


class Sampler:
    """Looks at the machine whenever something is due. Asks one thing after the other: the driver serialises them.

    A `careful` one says which card it is about to ask; cards of the NVML indices `left_out` are not asked, until a
    retry is requested.
    """

    def __init__(
        self,
        source: Source,
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
        """Say that the sampler lives, and open the driver. Raises RenewError as `step`."""
        self._emit(
            samples.Started(time=self._now(), pid=os.getpid(), gpu_studio=__version__, simulated=self._source.simulated)
        )
        self._open()

    def step(self) -> float:
        """Do what is due; seconds until the next thing is. Raises RenewError if only another process can go on."""
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
        """Do as asked from now on."""
        now = self._clock()
        if wanted.rate is not None:
            self.schedule.set_rate(wanted.rate, now)
        if wanted.classes is not None:
            self.schedule.want(wanted.classes, now)
        if wanted.retry:
            self.driver.left_out = frozenset()
            self._retry.at_once(now)

    def close(self) -> None:
        """Let go of the driver."""
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
        self._emit(self.driver.told(self._now()))
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
        self._emit(self.driver.told(self._now()))
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
        """Let go of cards that may sleep and that nobody uses; one that does not tell is taken to be in use."""
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
        figures = [samples.SlowFigures(card=card.key, **card.read(SLOW)) for card in self.driver.each()]
        self._emit(samples.Slow(time=self._now(), cards=figures))

    def _look_pcie(self) -> None:
        if self.driver.cards:
            self._turn = (self._turn + 1) % len(self.driver.cards)
            card = self.driver.cards[self._turn]
            self.driver.about(card.facts.index or 0)
            bus, links = card.read(PCIE), self._nvlink.read(card, self._clock())
            figures = samples.PcieFigures(card=card.key, **(bus | links | {"why": bus["why"] | links["why"]}))
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
