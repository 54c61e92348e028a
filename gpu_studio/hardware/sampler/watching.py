"""The sampling loop: query what is due, let cards sleep, back off after failures, write samples.

`watch` runs it until stdin is closed.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from gpu_studio import __version__
from gpu_studio.common.figures import MIB
from gpu_studio.common.steady import steady_seconds
from gpu_studio.contract import JSON_ERRORS, samples
from gpu_studio.hardware.nvml import FAST, PCIE, SLOW
from gpu_studio.hardware.sampler import schedule
from gpu_studio.hardware.sampler.card import Answerer, Events, NvlinkRates
from gpu_studio.hardware.sampler.driver import Driver, RenewError
from gpu_studio.hardware.sampler.processes import HostPeople, HostWatch, People, is_used
from gpu_studio.hardware.sampler.schedule import BackOff, Resting, Schedule
from gpu_studio.hardware.source import RENEW, MachineSource

READ = 65536
LONGEST_REQUEST = 65536
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


class Requests:
    """The lines of stdin, read without ever blocking on an unfinished one."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._cut = b""

    def wait(self, seconds: float) -> list[Request] | None:
        """The requests that arrive within `seconds`; None once stdin is closed."""
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        if not ready:
            return []
        chunk = os.read(self.descriptor, READ)
        if not chunk:
            return None
        *lines, self._cut = (self._cut + chunk).split(b"\n")
        self._cut = self._cut[:LONGEST_REQUEST]
        return [request for line in lines if (request := _request(line))]


def watch(
    source: MachineSource,
    wanted: Request,
    *,
    folder: Path | None = None,
    left_out: Iterable[int] = (),
    careful: bool = False,
) -> int:
    """Watch `source` until stdin is closed; return the exit code."""
    sampler = Sampler(source, emit_line, folder=folder, left_out=left_out, careful=careful)
    sampler.request(wanted)
    requests = Requests(sys.stdin.fileno())
    try:
        sampler.begin()
        while (found := requests.wait(sampler.step())) is not None:
            for request in found:
                sampler.request(request)
    except RenewError as error:
        sys.stderr.write(f"{error}\n")
        return RENEW
    sampler.close()
    return 0


def emit_line(sample: samples.Sample) -> None:
    """Write a sample to stdout, whole."""
    line = samples.encode(msgspec.structs.replace(sample, steady=round(steady_seconds(), 6)))
    while line:
        line = line[os.write(1, line) :]


def _request(line: bytes) -> Request | None:
    try:
        return msgspec.json.decode(line, type=Request)
    except JSON_ERRORS:
        return None
