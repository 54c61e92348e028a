"""Query the machine as plain values for JSON, in a process that a driver crash may take down.

`open_source` says whether this machine is queried, or a simulated one in its place; `users_of`
lists the processes that hold a card's memory.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpu_studio.common import practice
from gpu_studio.common.figures import MIB
from gpu_studio.hardware.command_words import command_line, holder_words
from gpu_studio.hardware.host import DEVICES, PciCard, PciWatch, host, in_bus_order
from gpu_studio.hardware.identity import VARIABLE, left_visible, why_hidden
from gpu_studio.hardware.nvml import (
    BUS_ID,
    CAPACITY,
    COMPUTE_CAPABILITY,
    MIG,
    NAME,
    NAMELESS,
    PROCESS_CALLS,
    UTILISATION,
    UUID,
    Ask,
    Unknown,
    answers,
    asking,
    instances_of,
    put,
    query,
    running,
)
from gpu_studio.hardware.source import (
    KnownProcess,
    MachineSource,
    SimulationError,
    is_recording,
    simulated,
)

NONE_FOUND = "the NVIDIA driver finds no card in this machine"
NO_INSTANCE = "it is in MIG mode and has no instance yet, so that CUDA sees nothing of it"
More = Callable[[Any], dict[str, Any]] | None
"""Further facts of the card with a handle."""


def probe(
    devices: Path = DEVICES, *, users: bool = False, source: MachineSource | None = None
) -> dict[str, Any]:
    """Everything that `gpu_studio.plan.Machine` holds.

    `devices` is where the kernel lists PCI devices. The machine named by `$GPU_STUDIO_SIMULATE` or
    `$GPU_STUDIO_PRACTICE` replaces this one's cards. The users of the cards are included only if
    `users` is set: that occupies the driver longer than all the rest. `source` replaces the default
    source.
    """
    name = simulated() if source is None else source.simulated
    try:
        if is_recording(name):
            from gpu_studio.hardware.simulated.recording import recorded_cards

            return _reported(recorded_cards(Path(name)), name)
        source = source or open_source(name, devices)
    except (SimulationError, practice.PracticeError) as error:
        return _reported(Unknown(str(error)), name)
    found = _all_cards(source.pci_cards(), _users_by(source.known) if users else None)
    return _reported(found, name, source.practice)


def _users_by(
    known: Callable[[int], KnownProcess | None] | None,
) -> Callable[[Any], dict[str, Any]]:
    def users(card: Any) -> dict[str, Any]:
        return {"users": users_of(card, known)}

    return users


def _reported(
    found: list[dict[str, Any]] | Unknown, name: str, practised: str = ""
) -> dict[str, Any]:
    value = os.environ.get(VARIABLE)
    shown = [] if isinstance(found, Unknown) else left_visible(found, value)
    why = "" if shown else _why_none(found, value)
    numbered = [
        {"index": index, **facts, **({"practice": True} if practised else {})}
        for index, card in enumerate(shown)
        for facts in _parts(card)
    ]
    return {
        "cards": numbered,
        **host(),
        "why_no_cards": why,
        "simulated": bool(name),
        "practice": practised,
    }


def _parts(card: dict[str, Any]) -> list[dict[str, Any]]:
    """The card, or its instances if it is in MIG mode, distinguished if they are the same size."""
    whole = {
        name: value for name, value in card.items() if name in ("bus_id", "compute_capability")
    }
    kinds = [part["instance"] for part in card.get("instances", ())]
    parts = [
        whole
        | part
        | {
            "instance": kind
            if kinds.count(kind) == 1
            else f"{kind} #{kinds[:place].count(kind) + 1}"
        }
        for place, (kind, part) in enumerate(zip(kinds, card.get("instances", ()), strict=True))
    ]
    return parts or [card]


def _all_cards(listed: list[PciCard], more: More) -> list[dict[str, Any]] | Unknown:
    """Every card in PCI bus order. Sleeping cards are not queried, because that would wake them."""
    asleep = [_sleeper(card) for card in listed if card.asleep]
    awake = [card.bus_id for card in listed if not card.asleep]
    if asleep and not awake:
        return asleep
    asked = cards(awake if asleep else None, more)
    if isinstance(asked, Unknown):
        return asleep or asked
    return in_bus_order(_placed(asked, awake) + asleep, lambda facts: str(facts["bus_id"]))


def _placed(found: list[dict[str, Any]], listed: list[str]) -> list[dict[str, Any]]:
    """Give cards without an address those that the kernel lists and no other card has.

    Otherwise a lost card would come last, and the numbers of those after it would be too low.
    """
    free = [bus_id for bus_id in listed if bus_id not in {facts["bus_id"] for facts in found}]
    nowhere = [facts for facts in found if not facts["bus_id"]]
    if len(free) != len(nowhere):
        return found
    places = iter(free)
    return [facts if facts["bus_id"] else {**facts, "bus_id": next(places)} for facts in found]


def _sleeper(card: PciCard) -> dict[str, Any]:
    why = "asleep: it was not woken to ask"
    return {
        "uuid": "",
        "name": "NVIDIA card, asleep",
        "bus_id": card.bus_id,
        "asleep": True,
        "why_unknown": why,
    }


def _why_none(found: list[dict[str, Any]] | Unknown, value: str | None) -> str:
    if isinstance(found, Unknown):
        return found.why
    return why_hidden(found, value) if found and value is not None else NONE_FOUND


def cards(
    bus_ids: Iterable[str] | None = None, more: More = None
) -> list[dict[str, Any]] | Unknown:
    """The facts of each card of the driver, or only of those at the given PCI addresses.

    Querying a card wakes it: if others sleep, give the addresses of those that are awake.
    """
    with running() as failure:
        if failure is not None:
            return failure
        if bus_ids is not None:
            return [
                _facts(query("nvmlDeviceGetHandleByPciBusId", bus_id), bus_id, more)
                for bus_id in bus_ids
            ]
        count = query("nvmlDeviceGetCount")
        if isinstance(count, Unknown):
            return count
        return [
            _facts(query("nvmlDeviceGetHandleByIndex", index), "", more) for index in range(count)
        ]


def _facts(handle: Any, bus_id: str, more: More) -> dict[str, Any]:
    """One card as the fields of `gpu_studio.plan.Card`, without its index."""
    if isinstance(handle, Unknown):
        return {
            "uuid": "",
            "name": NAMELESS,
            "bus_id": bus_id,
            "lost": True,
            "why_unknown": handle.why,
        }
    ask = asking(handle)
    return {
        "uuid": "",
        "name": NAMELESS,
        "bus_id": bus_id,
        **answers(ask, UUID, NAME, *([] if bus_id else [BUS_ID])),
        **_memory(ask),
        **answers(ask, COMPUTE_CAPABILITY),
        **_utilisation(ask),
        **(more(handle) if more else {}),
        **_divided(ask, more),
    }


def _divided(ask: Ask, more: More) -> dict[str, Any]:
    """The instances of a card in MIG mode, each as a card.

    Without any, nothing can use the card.
    """
    if not answers(ask, MIG).get("mig"):
        return {}
    instances = [_instance(handle, place, more) for place, handle in instances_of(ask).items()]
    return {"instances": instances} if instances else {"lost": True, "why_unknown": NO_INSTANCE}


def _instance(handle: Any, place: int, more: More) -> dict[str, Any]:
    ask = asking(handle)
    facts = {"uuid": "", "name": f"{NAMELESS} MIG instance {place}", **answers(ask, UUID, NAME)}
    kind = facts["name"].rpartition("MIG ")[2]
    return facts | {"instance": kind} | _memory(ask) | (more(handle) if more else {})


def _utilisation(ask: Ask) -> dict[str, Any]:
    reported = answers(ask, UTILISATION)
    return {"utilisation_percent": reported["utilisation_percent"]} if reported else {}


def _memory(ask: Ask) -> dict[str, Any]:
    answer = put(CAPACITY, ask)
    if isinstance(answer, Unknown):
        return {"total_mib": None, "used_mib": None, "why_unknown": answer.why}
    return dict(zip(CAPACITY.names, answer, strict=True))


def open_source(wanted: str | None = None, devices: Path = DEVICES) -> MachineSource:
    """This machine, or what replaces its cards: the simulated ones `wanted`, or practice cards.

    By default both are from the variables. They replace the driver's library in this process.
    Raises SimulationError or PracticeError if there are none of that name.
    """
    name = simulated() if wanted is None else wanted
    # Only a process without real cards waits for these imports.
    if name:
        from gpu_studio.hardware.simulated import install

        return install(name)
    cards = practice.chosen()
    if cards is not None:
        from gpu_studio.hardware.simulated.practice import source

        return source(cards)
    return MachineSource(PciWatch(devices).cards)


def users_of(
    card: Any, known: Callable[[int], KnownProcess | None] | None = None
) -> list[dict[str, Any]]:
    """The processes on the card with this handle as `gpu_studio.plan.CardUser`, the largest first.

    `known` identifies a process, by default by asking this host. What the driver does not report is
    left out.
    """
    held: dict[int, int | None] = {}
    for function in PROCESS_CALLS.values():
        listed = query(function, card)
        for entry in () if isinstance(listed, Unknown) else listed:
            used = None if entry.usedGpuMemory is None else entry.usedGpuMemory // MIB
            held[entry.pid] = max(filter(None, (held.get(entry.pid), used)), default=used)
    users = [
        {"pid": pid, "used_mib": used, **_user_words((known or known_here)(pid))}
        for pid, used in held.items()
    ]
    return sorted(users, key=lambda user: -(user["used_mib"] or 0))


def known_here(pid: int) -> KnownProcess | None:
    """What this host knows of a process; None if it is not one of this host's."""
    import psutil

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            return KnownProcess(process.username(), command_line(process), None, 0)
    except psutil.Error:
        return None


def _user_words(known: KnownProcess | None) -> dict[str, str]:
    if known is None:
        return {}
    return {
        "command": holder_words(known.command),
        "user": "" if known.user == _me() else known.user,
    }


def _me() -> str:
    with suppress(OSError, KeyError):
        return getpass.getuser()
    return ""
