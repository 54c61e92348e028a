"""The physical devices of a machine under a plan, as bars to scale.

A card is a track to carve: what is taken, its successive slices, and what is free.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate

from gpu_studio.common.figures import plural, size_from_mib, whole_mib
from gpu_studio.hardware.device_rows import MAKER
from gpu_studio.plan import (
    CPU,
    Card,
    Machine,
    Plan,
    Problem,
    logical_devices,
    physical_name,
    title_of,
)
from gpu_studio.plan.card_memory import beside_slices_mib, held_by, too_little_beside
from gpu_studio.plan.carving import CardSlices, capacity_mib, slices_of
from gpu_studio.ui.kit import sentence
from gpu_studio.ui.kit.device_place import places

HIDDEN = "hidden from TensorFlow by the plan"
ANOTHER = "hidden: one at a time"
ONE_OF_THEM = (
    "MIG divides the card into instances; a process can use one of them, and no other card."
)
MISSING = "not in this machine"
LOST = "lost"
WHOLE = "whole"
NO_LIMIT = "TensorFlow has no memory limit on a CPU."
SAME_CORES = "They share the cores; no memory limit."


@dataclass(frozen=True, slots=True)
class Strip:
    """One physical device.

    Its name and how it is carved. TensorFlow sees it only if it is `visible`.

    `track` is set for a card whose slices can be dragged; `errors` are the rules' messages about
    this device. A `lost` device is in the machine and does not answer, a `missing` one is not in
    it; an `instance` is a part of a card in MIG mode.
    """

    device: str
    name: str
    detail: str
    slices: int
    segments: tuple[Segment, ...]
    note: str = ""
    visible: bool = True
    carved: bool = False
    track: Track | None = None
    overflow: Overflow | None = None
    errors: tuple[str, ...] = ()
    caution: str = ""
    missing: bool = False
    lost: bool = False
    instance: bool = False

    @property
    def cut(self) -> str:
        """How it is carved, in words: `whole`, `4 slices`."""
        return plural(self.slices, "slice") if self.carved or self.slices > 1 else WHOLE

    @property
    def shorter_detail(self) -> str:
        """The detail where there is no space for the card's maker."""
        return self.detail.removeprefix(MAKER)


def strips_of(plan: Plan, machine: Machine, problems: Iterable[Problem] = ()) -> tuple[Strip, ...]:
    """Return the cards, and the CPU if it matters.

    The CPU is included if there are no cards, if the plan carves it, or if the plan names a card
    that is missing. `problems` are those of the plan; each strip takes the ones about its device.
    """
    every = all_strips(plan, machine, problems)
    alone = not machine.cards or bool(slices_of(plan, CPU, machine))
    return every if alone else tuple(strip for strip in every if strip.device != CPU)


def all_strips(plan: Plan, machine: Machine, problems: Iterable[Problem] = ()) -> tuple[Strip, ...]:
    """The cards, the CPU, and what the plan names and the machine lacks."""
    said = _by_device(plan, machine, problems)
    logical = logical_devices(plan, machine)
    known = places(logical, machine)
    seen: dict[str, tuple[int, ...]] = {}
    for device in logical:
        seen[device.physical] = (*seen.get(device.physical, ()), known[device.name])
    order = [device.physical for device in logical]
    first = {physical: (order.index(physical), its) for physical, its in seen.items()}
    cards = tuple(
        _card_strip(plan, machine, card, first.get(card.device), said.get(card.device, ()))
        for card in machine.cards
    )
    gone = tuple(
        _missing_strip(plan, machine, name, said.get(name, ())) for name in _missing(plan, machine)
    )
    return (*cards, _cpu_strip(plan, machine, said.get(CPU, ())), *gone)


def _by_device(
    plan: Plan, machine: Machine, problems: Iterable[Problem]
) -> dict[str, tuple[str, ...]]:
    """Return the messages about each physical device."""
    fields = [
        (f"devices.visible[{place}]", name) for place, name in enumerate(plan.devices.visible)
    ]
    fields += [
        (f"devices.carve[{place}]", carve.device) for place, carve in enumerate(plan.devices.carve)
    ]
    # Where the plan names no card, a problem of a card that is shown all the same concerns all
    # names.
    unnamed = () if plan.devices.visible else machine.cards
    fields += [("devices.visible", card.device) for card in unnamed if card.lost]
    said: dict[str, tuple[str, ...]] = {}
    for problem in problems:
        for field, name in fields:
            if problem.field == field or problem.field.startswith(f"{field}."):
                device = physical_name(name, machine)
                said[device] = (*said.get(device, ()), in_words(problem))
    return said


def said_of_all(problems: Iterable[Problem]) -> tuple[str, ...]:
    """Return the messages about the devices in general."""
    fields = ("devices.carve", "devices.memory_growth")
    return tuple(in_words(problem) for problem in problems if problem.field in fields)


def in_words(problem: Problem) -> str:
    """A problem for display beside its field, without the field's name.

    For example, `9 000 MiB in all: take away …`.
    """
    return f"{problem.received}: {problem.advice}"


def _missing(plan: Plan, machine: Machine) -> Iterator[str]:
    named = (*plan.devices.visible, *(carve.device for carve in plan.devices.carve))
    yield from dict.fromkeys(name for name in named if name != CPU and not machine.card(name))


def _missing_strip(plan: Plan, machine: Machine, name: str, errors: tuple[str, ...]) -> Strip:
    sizes = slices_of(plan, name, machine)
    segments = tuple(Segment(max(0, size), "", size_from_mib(size)) for size in sizes)
    return Strip(
        name,
        name,
        MISSING,
        len(sizes) or 1,
        segments or (Segment(1, MISSING),),
        carved=bool(sizes),
        errors=errors,
        missing=True,
    )


def _cpu_strip(plan: Plan, machine: Machine, errors: tuple[str, ...]) -> Strip:
    logical = logical_devices(plan, machine)
    known = places(logical, machine)
    segments = tuple(
        Segment(1, each.name, place=known[each.name]) for each in logical if each.physical == CPU
    )
    memory = f" · {size_from_mib(machine.memory_mib)}" if machine.memory_mib else ""
    detail = f"{plural(machine.cpu_cores, 'core')}{memory}"
    note = SAME_CORES if len(segments) > 1 else NO_LIMIT
    return Strip(CPU, "CPU", detail, len(segments), segments, note, errors=errors)


def _card_strip(
    plan: Plan,
    machine: Machine,
    card: Card,
    first: tuple[int, tuple[int, ...]] | None,
    errors: tuple[str, ...],
) -> Strip:
    """`first` is the number of the card's first logical device; `places` are those of all.

    A hidden card has none.
    """
    if card.lost:
        return _lost_strip(card, visible=first is not None, errors=errors)
    if first is None:
        return _hidden_strip(card, errors)
    sizes = slices_of(plan, card.device, machine)
    number_of_first, colours = first
    track = track_of(card, sizes, number_of_first, colours, grows=plan.devices.memory_growth)
    return Strip(
        card.device,
        card.title,
        _detail(card),
        len(sizes) or 1,
        segments_of(track),
        _note(card),
        carved=bool(sizes),
        track=track,
        overflow=overflow_of(track),
        errors=errors,
        caution=caution_of(track),
        instance=bool(card.instance),
    )


def _lost_strip(card: Card, *, visible: bool, errors: tuple[str, ...]) -> Strip:
    bar = (Segment(1, LOST, hatched=True, bad=True),)
    note = "" if errors else sentence(card.why_unknown)
    return Strip(
        card.device, card.title, card.name, 0, bar, note, visible=visible, errors=errors, lost=True
    )


def _hidden_strip(card: Card, errors: tuple[str, ...]) -> Strip:
    instance = bool(card.instance)
    bar, note = (Segment(1, ANOTHER if instance else HIDDEN),), ONE_OF_THEM if instance else ""
    return Strip(
        card.device,
        card.title,
        _detail(card),
        0,
        bar,
        note,
        visible=False,
        errors=errors,
        instance=instance,
    )


def _detail(card: Card) -> str:
    return f"{card.name} · {size_from_mib(card.total_mib)}" if card.total_mib else card.name


def _note(card: Card) -> str:
    taken = taken_in_words(card)
    return f"{taken}. {ONE_OF_THEM}" if card.instance else taken


def taken_in_words(card: Card) -> str:
    """Say how much of a card is taken now, and by whom; if unknown, why."""
    held = (("driver", card.reserved_mib), ("other programs now", card.used_mib or 0))
    words = ", ".join(f"{who} {size_from_mib(size)}" for who, size in held if size)
    words += f", {held_by(card.users)}" if card.users and card.used_mib else ""
    return ". ".join(filter(None, (f"▨ {words}" if words else "", card.why_unknown)))


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of the bar, `size` wide in any unit.

    `place` gives its colour; without one it is free. A `bad` segment is hatched in the error
    colour.
    """

    size: float
    title: str
    caption: str = ""
    place: int | None = None
    hatched: bool = False
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Overflow:
    """The part of a bar beyond the card's end.

    `bad` means more than the card has, otherwise more than is free.
    """

    begin: float
    size: float
    text: str
    bad: bool


@dataclass(frozen=True, slots=True)
class Track:
    """One card, all in MiB.

    `total` is 0 if unknown; `capacity` is what slices can have by moving their ends. `first` is the
    number of the card's first logical device; `beside` is what a process takes besides the slices;
    `places` give its slices their colours, and `title` is the card's name for the user. Without
    `sizes` it is whole. The bar is at least `stretch` long, so that it keeps its scale while an end
    is dragged.
    """

    device: str
    total: int = 0
    reserved: int = 0
    used: int = 0
    capacity: int = 0
    first: int = 0
    sizes: tuple[int, ...] = ()
    grows: bool = False
    stretch: int = 0
    title: str = ""
    places: tuple[int, ...] = ()
    beside: int = 0

    @property
    def taken(self) -> int:
        """The memory of the card that the driver and other programs hold now."""
        return self.reserved + self.used

    @property
    def cut(self) -> CardSlices:
        """The slices; a whole card is a single one."""
        return CardSlices.of(self.sizes or (max(1, self.total - self.taken),))

    @property
    def ends(self) -> tuple[int, ...]:
        """Where each slice ends, from the start of the bar."""
        return tuple(accumulate(self.cut.sizes, initial=self.taken))[1:]

    @property
    def length(self) -> int:
        """The length of the bar: the card, or its contents if they are larger."""
        return max(self.total, self.ends[-1], self.stretch, 1)

    @property
    def movable_ends(self) -> tuple[int, ...]:
        """The ends that can be dragged: all but the last one if the card's memory is unknown."""
        return self.ends if self.total else self.ends[:-1]

    def name(self, index: int) -> str:
        """The logical device of a slice."""
        return f"GPU:{self.first + index}"

    def place(self, index: int) -> int:
        """The number that gives a slice its colour."""
        return self.places[index] if index < len(self.places) else self.first + index

    @property
    def physical(self) -> str:
        """The card's name for the user."""
        return self.title or title_of(self.device)

    def start(self, index: int) -> int:
        """Where a slice begins, from the start of the bar."""
        return self.ends[index] - self.cut.sizes[index]

    def with_end(self, index: int, size: int) -> Track:
        """Move the end of a slice until the slice has this size, or as near to it as possible."""
        return replace(
            self, sizes=self.cut.with_end(index, size, self.capacity).sizes, stretch=self.length
        )

    def sized(self, index: int) -> str:
        """A slice with its exact size: `GPU:1 16,384 MiB`."""
        return f"{self.name(index)} {whole_mib(self.cut.sizes[index])}"


def track_of(
    card: Card, sizes: tuple[int, ...], first: int, colours: tuple[int, ...] = (), *, grows: bool
) -> Track:
    """The track of a card that TensorFlow may see; `colours` are the places of its slices."""
    total = card.total_mib or 0
    capacity = capacity_mib(card)
    return Track(
        card.device,
        total,
        card.reserved_mib,
        card.used_mib or 0,
        sum(sizes) if capacity is None else capacity,
        first,
        sizes,
        grows,
        title=card.title,
        places=colours,
        beside=beside_slices_mib(card),
    )


def segments_of(track: Track) -> tuple[Segment, ...]:
    """The parts of the bar, from left to right."""
    others = (
        (Segment(track.taken, "in use now", size_from_mib(track.taken), hatched=True),)
        if track.taken
        else ()
    )
    if not track.sizes:
        caption = "grows as needed" if track.grows else "all that is free"
        return (*others, Segment(track.cut.sizes[0], track.name(0), caption, track.place(0)))
    slices = tuple(
        Segment(max(0, size), track.name(index), size_from_mib(size), track.place(index))
        for index, size in enumerate(track.sizes)
    )
    free = track.total - track.ends[-1]
    beyond = track.length - max(track.total, track.ends[-1])
    rest = (Segment(free, "", f"{size_from_mib(free)} free"), Segment(beyond, ""))
    return (*others, *slices, *(part for part in rest if part.size > 0))


def overflow_of(track: Track) -> Overflow | None:
    """The part beyond the card's end; None if there is none, or the card's memory is unknown."""
    over = track.ends[-1] - track.total
    if not track.sizes or not track.total or over <= 0:
        return None
    beyond = sum(track.sizes) - (track.total - track.reserved)
    if beyond > 0:
        return Overflow(track.total, over, f"{size_from_mib(beyond)} too many", bad=True)
    return Overflow(track.total, over, f"{size_from_mib(over)} in use now", bad=False)


def caution_of(track: Track) -> str:
    """A warning about what is allowed and may still fail; empty if nothing is."""
    free = track.total - track.ends[-1]
    if not track.sizes or not track.total:
        return ""
    if free < 0:
        return (
            f"{size_from_mib(-free)} of this is in use by other programs now, which must end first"
        )
    if free < track.beside:
        return too_little_beside(track.beside, free)
    return ""
