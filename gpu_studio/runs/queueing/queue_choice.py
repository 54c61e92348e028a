"""Whether a queued plan may start now, and if not, what it waits for. Values in, words out.

Who waits longer comes first: a device that an earlier entry waits for is kept for that one, even while it is free, so
that an entry which needs two cards gets them however many wait that need but one. What no earlier entry names is for
whoever is next. An entry that is held waits for nothing, and keeps nothing; one that lets others pass waits, and keeps
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpu_studio.plan import MIB, Machine
from gpu_studio.plan.card_memory import most_mib, now_mib
from gpu_studio.plan.holders import gib, held_by
from gpu_studio.plan.logical import CPU
from gpu_studio.plan.machine import title_of
from gpu_studio.runs.queueing.queue_needs import Need


@dataclass(frozen=True, slots=True)
class Occupant:
    """A live run, the physical `devices` it works on, and whether it `holds` each of them for itself.

    It does if the queue started it (one at a time on a device), and as long as it is starting: what memory it will
    take cannot be seen yet. `pid` is its trainer's, 0 where that is not known.
    """

    run: str
    devices: frozenset[str]
    holds: bool
    pid: int = 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """An entry of the queue: its `id`, its plan's `name`, its `needs`; `now` if it shall start whatever is free.

    What it waits for is kept for it, unless it `lets_pass` those behind it.
    """

    id: str
    name: str
    needs: tuple[Need, ...]
    now: bool = False
    lets_pass: bool = False


def first_to_start(
    waiting: Iterable[Waiting], machine: Machine, occupants: Sequence[Occupant]
) -> tuple[str | None, dict[str, str]]:
    """The id of the first of the `waiting` that may start, and what each before it waits for; None if all wait."""
    waits: dict[str, str] = {}
    kept: dict[str, str] = {}
    for each in waiting:
        text = "" if each.now else _for_its_turn(each.needs, kept) or waits_for(each.needs, machine, occupants)
        if not text:
            return each.id, waits
        waits[each.id] = text
        if not each.lets_pass:
            kept = {need.device: each.name for need in each.needs} | kept
    return None, waits


def _for_its_turn(needs: Sequence[Need], kept: Mapping[str, str]) -> str:
    """What to say if an earlier entry waits for the same; `kept` has the devices and the name of the first for each.

    Who waits for the CPU waits for every run to end, on whatever device: nobody goes before that one.
    """
    if needs and CPU in kept:
        return f"waits for its turn, after {kept[CPU]}"
    taken = next((need.device for need in needs if need.device in kept), None)
    return f"waits for its turn on {title_of(taken)}, after {kept[taken]}" if taken else ""


def waits_for(needs: Sequence[Need], machine: Machine, occupants: Sequence[Occupant]) -> str:
    """What a plan with these needs waits for, with nobody before it; empty if it may start."""
    if any(need.device == CPU for need in needs):
        return _for_the_machine(occupants)
    return next((text for need in needs if (text := _for_card(need, machine, occupants))), "")


def _for_the_machine(occupants: Sequence[Occupant]) -> str:
    if not occupants:
        return ""
    return f"waits for {occupants[0].run} to end" if len(occupants) == 1 else f"waits for {len(occupants)} runs to end"


def _for_card(need: Need, machine: Machine, occupants: Sequence[Occupant]) -> str:
    there = [each for each in occupants if need.device in each.devices]
    holder = next((each for each in there if each.holds), None)
    if holder is not None:
        return f"waits for {holder.run} on {title_of(need.device)}"
    card = machine.card(need.device)
    if card is None:
        return ""
    free = now_mib(card, carved=need.carved)
    if need.bytes is None or free is None:
        # Asleep, or of a size that nobody tells: then only the runs that are known of are in the way.
        return f"waits for {there[0].run} on {card.title}" if there else ""
    if free * MIB >= need.bytes:
        return ""
    text = f"waits for {gib(need.bytes)} on {card.title}: {gib(free * MIB)} can be had now"
    runs = {each.pid: each.run for each in occupants if each.pid}
    return "; ".join(filter(None, (text, held_by(card.users, runs))))


def never_fits(needs: Sequence[Need], machine: Machine) -> str:
    """Why a plan with these needs can never start, however long it waits; empty if it can."""
    return next((text for need in needs if (text := _beyond(need, machine))), "")


def _beyond(need: Need, machine: Machine) -> str:
    card = machine.card(need.device)
    most = None if card is None else most_mib(card, carved=need.carved)
    if card is None or most is None or need.bytes is None or need.bytes <= most * MIB:
        return ""
    return f"needs {gib(need.bytes)} on {card.title}, which can give {gib(most * MIB)}"


def in_words(needs: Sequence[Need]) -> str:
    """What is needed, in a line: `3.1 GiB on GPU 1`; `the CPU, with no other run`."""
    if any(need.device == CPU for need in needs):
        return "the CPU, with no other run"
    return ", ".join(_in_words(need) for need in needs)


def _in_words(need: Need) -> str:
    device = title_of(need.device)
    return device if need.bytes is None else f"{gib(need.bytes)} on {device}"
