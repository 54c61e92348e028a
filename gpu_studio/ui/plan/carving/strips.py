"""The physical devices of a machine under a plan, as bars to scale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpu_studio.common.figures import plural, size_from_mib
from gpu_studio.plan import Card, Machine, Plan, Problem, logical_devices
from gpu_studio.plan.edits.carving import slices_of
from gpu_studio.plan.holders import held_by
from gpu_studio.plan.logical import CPU, physical_name
from gpu_studio.ui.kit.device_place import places
from gpu_studio.ui.kit.sentences import sentence
from gpu_studio.ui.plan.carving.track import (
    Overflow,
    Segment,
    Track,
    caution_of,
    overflow_of,
    segments_of,
    track_of,
)

HIDDEN = "hidden from TensorFlow by the plan"
ANOTHER = "hidden: one at a time"
ONE_OF_THEM = (
    "MIG divides the card into instances; a process can use one of them, and no other card."
)
MISSING = "not in this machine"
LOST = "lost"
WHOLE = "whole"
NO_LIMIT = "TensorFlow has no memory limit on a CPU."
SAME_CORES = "Logical CPUs share the cores, and have no memory limit."


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
