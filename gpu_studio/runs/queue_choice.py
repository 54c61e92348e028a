"""Whether a queued plan may start now, and if not, what it waits for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpu_studio.common.figures import MIB, size, unit_of
from gpu_studio.plan import (
    CPU,
    Machine,
    Plan,
    PlannedDevice,
    logical_devices,
    parameter_home,
    replicas,
    title_of,
)
from gpu_studio.plan.card_memory import held_by, most_mib, now_mib

WHOLE_CARD = 0.9
"""The share of a card that counts as all of it: a desktop or another program holds a little."""


@dataclass(frozen=True, slots=True)
class Need:
    """The `bytes` needed of the physical `device`; None if unknown, and for the CPU.

    `carved` says that they are those of slices; `guessed`, that a whole card is asked for because
    nothing was predicted.
    """

    device: str
    bytes: int | None = None
    carved: bool = False
    guessed: bool = False


def needs_of(plan: Plan, machine: Machine, predicted: Mapping[str, int]) -> tuple[Need, ...]:
    """What `plan` needs of each physical device that it uses, in TensorFlow's order.

    Of a slice that is its limit, whatever was `predicted`: TensorFlow takes a slice whole, and
    silently less of it where that much is not free. Of a card without slices it takes what is free,
    so the predicted memory is enough, if it is known; else the whole card is asked for. A plan that
    uses cards waits for those; one that uses only CPUs needs the CPU.
    """
    known = {each.name: each for each in logical_devices(plan, machine)}
    names = dict.fromkeys((*replicas(plan, machine), parameter_home(plan, machine)))
    used = [known[name] for name in names if name in known]
    cards = [each for each in used if each.physical != CPU]
    if not cards:
        return (Need(CPU),) if used else ()
    return tuple(
        _of_card(card, cards, machine, predicted)
        for card in dict.fromkeys(each.physical for each in cards)
    )


def _of_card(
    card: str, devices: list[PlannedDevice], machine: Machine, predicted: Mapping[str, int]
) -> Need:
    mine = [each for each in devices if each.physical == card]
    reported = [part for each in mine if (part := _of_device(each, machine, predicted)) is not None]
    carved = any(each.limit_mib is not None for each in mine)
    guessed = any(each.limit_mib is None and each.name not in predicted for each in mine)
    return Need(card, sum(reported) if len(reported) == len(mine) else None, carved, guessed)


def _of_device(device: PlannedDevice, machine: Machine, predicted: Mapping[str, int]) -> int | None:
    if device.limit_mib:
        return device.limit_mib * MIB
    if device.name in predicted:
        return predicted[device.name]
    card = machine.card(device.physical)
    most = None if card is None else most_mib(card)
    return None if most is None else int(most * WHOLE_CARD) * MIB


@dataclass(frozen=True, slots=True)
class Occupant:
    """A live run by its title, its physical `devices`, and whether it `holds` each exclusively.

    It does if the queue started it (one at a time on a device), and while it is starting: its
    memory cannot be seen yet. `pid` is its trainer's, 0 if unknown.
    """

    run: str
    devices: frozenset[str]
    holds: bool
    pid: int = 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queue entry: its `id`, its plan's `name`, its `needs`; `now` if it starts whatever is free.

    What it waits for is reserved for it, unless it `lets_pass` later entries.
    """

    id: str
    name: str
    needs: tuple[Need, ...]
    now: bool = False
    lets_pass: bool = False


def first_to_start(
    waiting: Iterable[Waiting], machine: Machine, occupants: Sequence[Occupant]
) -> tuple[str | None, dict[str, str]]:
    """The id of the first of `waiting` that may start, and what the earlier ones wait for.

    The id is None if all wait.
    """
    waits: dict[str, str] = {}
    kept: list[Waiting] = []
    for each in waiting:
        text = (
            ""
            if each.now
            else _for_its_turn(each.needs, kept) or waits_for(each.needs, machine, occupants)
        )
        if not text:
            return each.id, waits
        waits[each.id] = text
        if not each.lets_pass:
            kept.append(each)
    return None, waits


def _for_its_turn(needs: Sequence[Need], kept: Sequence[Waiting]) -> str:
    """The text if an earlier entry of `kept` waits for the same: it names the last of them.

    An entry for the CPU waits for every run to end, on any device: no later one passes it.
    """
    for before in reversed(kept if needs else ()):
        theirs = {need.device for need in before.needs}
        if CPU in theirs:
            return f"waits for its turn, after {before.name}"
        shared = next((need.device for need in needs if need.device in theirs), None)
        if shared is not None:
            return f"waits for its turn on {title_of(shared)}, after {before.name}"
    return ""


def waits_for(needs: Sequence[Need], machine: Machine, occupants: Sequence[Occupant]) -> str:
    """What a plan with these needs waits for if it is first; empty if it may start."""
    if any(need.device == CPU for need in needs):
        return _for_the_machine(occupants)
    return next((text for need in needs if (text := _for_card(need, machine, occupants))), "")


def _for_the_machine(occupants: Sequence[Occupant]) -> str:
    if not occupants:
        return ""
    return (
        f"waits for {occupants[0].run} to end"
        if len(occupants) == 1
        else f"waits for {len(occupants)} runs to end"
    )


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
        # Asleep, or of unknown size: then only known runs are in the way.
        return f"waits for {there[0].run} on {card.title}" if there else ""
    if free * MIB >= need.bytes:
        return ""
    # In one unit: otherwise little free memory would be shown in ever changing MiB.
    had = size(free * MIB, unit_of(need.bytes))
    text = f"waits for {size(need.bytes)} on {card.title}: {had} can be had now"
    runs = {each.pid: each.run for each in occupants if each.pid}
    return "; ".join(filter(None, (text, held_by(card.users, runs))))


def waits_now(needs: Sequence[Need], machine: Machine) -> str:
    """What a plan with these needs lacks now of the cards' memory, as far as that is known.

    Empty if nothing, and for a whole card that was asked for because nothing was predicted.
    """
    return waits_for([each for each in needs if not each.guessed], machine, ())


def never_fits(needs: Sequence[Need], machine: Machine) -> str:
    """Why a plan with these needs can never start; empty if it can."""
    return next((text for need in needs if (text := _beyond(need, machine))), "")


def _beyond(need: Need, machine: Machine) -> str:
    card = machine.card(need.device)
    most = None if card is None else most_mib(card, carved=need.carved)
    if card is None or most is None or need.bytes is None or need.bytes <= most * MIB:
        return ""
    return f"needs {size(need.bytes)} on {card.title}, which can give {size(most * MIB)}"


def in_words(needs: Sequence[Need]) -> str:
    """The needs on one line: `3.1 GiB on GPU 1`; `the CPU, with no other run`."""
    if any(need.device == CPU for need in needs):
        return "the CPU, with no other run"
    return ", ".join(_in_words(need) for need in needs)


def _in_words(need: Need) -> str:
    device = title_of(need.device)
    return device if need.bytes is None else f"{size(need.bytes)} on {device}"
