"""The current state of the machine, built up from samples, for a page, a table or JSON."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import singledispatchmethod

from gpu_studio.contract.samples import (
    AnySample,
    Beat,
    CardFacts,
    Cards,
    Fast,
    FastFigures,
    Happened,
    Host,
    HostProcesses,
    Owner,
    Pcie,
    PcieFigures,
    Processes,
    Sample,
    SamplerStarted,
    Slow,
    SlowFigures,
)

MOST_EVENTS = 1000
NOT_YET = "not asked yet"

Figure = int | float | str | bool | list[str]


@dataclass(slots=True)
class CardNow:
    """A card or a MIG instance, with the latest of each class of figures."""

    facts: CardFacts
    fast: FastFigures | None = None
    slow: SlowFigures | None = None
    pcie: PcieFigures | None = None

    def figure(self, name: str) -> Figure | None:
        """A figure or fact by its name in `samples`.

        None is unknown, and `why` gives the reason.
        """
        for part in self._parts():
            value: Figure | None = getattr(part, name, None)
            if value is not None:
                return value
        return None

    def why(self, name: str) -> str:
        """Why a figure is unknown, in words to show in its place."""
        if self.facts.gone:
            return self.facts.gone
        reasons = (
            part.why[name] for part in self._parts() if part is not None and name in part.why
        )
        return next(reasons, NOT_YET)

    def _parts(self) -> tuple[CardFacts | FastFigures | SlowFigures | PcieFigures | None, ...]:
        # The last figures of a card that is gone are not current.
        return (self.facts,) if self.facts.gone else (self.fast, self.slow, self.pcie, self.facts)


@dataclass
class MachinePicture:
    """The current state. `seen` has the processed kinds of samples.

    Events and notes are the last thousand.
    """

    cards: dict[str, CardNow] = field(default_factory=dict)
    instances: dict[str, CardNow] = field(default_factory=dict)
    processes: Processes | None = None
    host: Host | None = None
    host_processes: HostProcesses | None = None
    beat: Beat | None = None
    time: float = 0.0
    why: str = ""
    driver: str | None = None
    cuda: str | None = None
    simulated: str = ""
    events: deque[Happened] = field(default_factory=lambda: deque(maxlen=MOST_EVENTS))
    notes: deque[Owner] = field(default_factory=lambda: deque(maxlen=MOST_EVENTS))
    seen: set[str] = field(default_factory=set)

    def apply(self, sample: AnySample) -> None:
        """Process a sample."""
        self.time = sample.time
        self.seen.add(str(sample.__struct_config__.tag))
        self._take(sample)

    @singledispatchmethod
    def _take(self, sample: Sample) -> None:
        """A kind of sample that changes nothing here."""

    @_take.register
    def _(self, sample: SamplerStarted) -> None:
        self.simulated = sample.simulated

    @_take.register
    def _(self, sample: Cards) -> None:
        self.why, self.driver, self.cuda = sample.why, sample.driver, sample.cuda
        before, before_instances = self.cards, self.instances
        self.cards, self.instances = {}, {}
        for facts in sample.cards:
            self.cards[facts.card] = _renewed(before.get(facts.card), facts)
            for instance in facts.instances:
                reported = CardFacts(
                    card=instance.card,
                    name=instance.name,
                    total_mib=instance.total_mib,
                    gone=facts.gone,
                )
                self.instances[instance.card] = _renewed(
                    before_instances.get(instance.card), reported
                )

    @_take.register
    def _(self, sample: Fast) -> None:
        for figures in sample.cards:
            card = self.cards.get(figures.card) or self.instances.get(figures.card)
            if card:
                card.fast = figures

    @_take.register
    def _(self, sample: Slow) -> None:
        for figures in sample.cards:
            if figures.card in self.cards:
                self.cards[figures.card].slow = figures

    @_take.register
    def _(self, sample: Pcie) -> None:
        for figures in sample.cards:
            if figures.card in self.cards:
                self.cards[figures.card].pcie = figures

    @_take.register
    def _(self, sample: Processes) -> None:
        self.processes = sample

    @_take.register
    def _(self, sample: HostProcesses) -> None:
        self.host_processes = sample

    @_take.register
    def _(self, sample: Host) -> None:
        self.host = sample

    @_take.register
    def _(self, sample: Happened) -> None:
        self.events.append(sample)

    @_take.register
    def _(self, sample: Beat) -> None:
        self.beat = sample

    @_take.register
    def _(self, sample: Owner) -> None:
        self.notes.append(sample)


def _renewed(before: CardNow | None, facts: CardFacts) -> CardNow:
    return (
        CardNow(facts, before.fast, before.slow, before.pcie)
        if before and not facts.gone
        else CardNow(facts)
    )
