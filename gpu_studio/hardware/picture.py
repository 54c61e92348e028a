"""The current state of the machine, built up from samples, for a page, a table or JSON.

`machine_now` puts its figures into the inventory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
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
    Process,
    Processes,
    Sample,
    SamplerStarted,
    Slow,
    SlowFigures,
)
from gpu_studio.hardware.command_words import holder_words
from gpu_studio.plan import Card, CardUser, Machine

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
    practice: str = ""
    events: deque[Happened] = field(default_factory=lambda: deque(maxlen=MOST_EVENTS))
    notes: deque[Owner] = field(default_factory=lambda: deque(maxlen=MOST_EVENTS))
    seen: set[str] = field(default_factory=set)

    @property
    def marked(self) -> str:
        """What must accompany figures of cards that are not there; empty for real ones."""
        if self.practice:
            return f"practice: {self.practice}"
        return f"simulated: {self.simulated}" if self.simulated else ""

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
        self.simulated, self.practice = sample.simulated, sample.practice

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


NEWS_MIB = 64
"""Smaller changes of a card's memory are ignored: the figures of a training always fluctuate."""


def machine_now(machine: Machine, picture: MachinePicture, me: str) -> Machine:
    """`machine` updated by the sampler's figures.

    `me` is this user, who is not named as a card's user.
    """
    if "fast" not in picture.seen:
        return machine
    return replace(machine, cards=tuple(_card_now(card, picture, me) for card in machine.cards))


def is_news(before: Machine, after: Machine) -> bool:
    """Whether a plan may be affected: cards, their users, or much of their memory changed."""
    if len(before.cards) != len(after.cards):
        return True
    return any(_differs(one, other) for one, other in zip(before.cards, after.cards, strict=True))


def _differs(before: Card, after: Card) -> bool:
    if _lasting(before) != _lasting(after) or (before.used_mib is None) != (after.used_mib is None):
        return True
    return abs((before.used_mib or 0) - (after.used_mib or 0)) >= NEWS_MIB


def _lasting(card: Card) -> tuple[object, ...]:
    users = frozenset(user.pid for user in card.users)
    return (
        card.uuid,
        card.lost,
        card.asleep,
        card.total_mib,
        card.reserved_mib,
        card.why_unknown,
        users,
    )


def _card_now(card: Card, picture: MachinePicture, me: str) -> Card:
    found = _seen(card, picture)
    if found is None:
        return card
    facts = found.facts
    if facts.gone:
        why = "asleep: it was not woken to ask" if facts.asleep else facts.gone
        return replace(
            card,
            used_mib=None,
            users=(),
            asleep=facts.asleep,
            lost=not facts.asleep,
            why_unknown=why,
            utilisation_percent=None,
        )
    used, reserved = found.figure("memory_used_mib"), found.figure("memory_reserved_mib")
    busy, total = found.figure("utilisation_percent"), found.figure("total_mib")
    return replace(
        card,
        uuid=card.uuid or facts.uuid,
        name=facts.name or card.name,
        total_mib=total if isinstance(total, int) else card.total_mib,
        used_mib=used if isinstance(used, int) else None,
        reserved_mib=reserved if isinstance(reserved, int) else card.reserved_mib,
        utilisation_percent=busy if isinstance(busy, int) else None,
        asleep=False,
        lost=False,
        why_unknown="" if isinstance(used, int) else found.why("memory_used_mib"),
        users=card.users if picture.processes is None else tuple(_users(facts.card, picture, me)),
    )


def _seen(card: Card, picture: MachinePicture) -> CardNow | None:
    """The watched card, matched by UUID or else PCI address, never by position."""
    if card.instance:
        return picture.instances.get(card.uuid)
    if card.uuid in picture.cards:
        return picture.cards[card.uuid]
    same = (
        each for each in picture.cards.values() if card.bus_id and each.facts.bus_id == card.bus_id
    )
    return next(same, None)


def _users(key: str, picture: MachinePicture, me: str) -> Iterator[CardUser]:
    """The users of the card, the largest first."""
    reported = picture.processes.processes if picture.processes else []
    mine = [each for each in reported if each.card == key]
    for each in sorted(mine, key=_held, reverse=True):
        others = each.user if each.user and each.user != me else ""
        yield CardUser(
            each.pid, each.memory_mib, holder_words(each.command) if each.command else "", others
        )


def _held(process: Process) -> int:
    return process.memory_mib or 0
