"""The machine asked, as plain values for JSON. Runs in the process that may be lost to a driver's crash."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpu_studio.hardware.host import host
from gpu_studio.hardware.nvml import Unknown, cards
from gpu_studio.hardware.pci import DEVICES, PciCard, bus_order
from gpu_studio.hardware.source import Known, Source, is_recording, open_source, simulated
from gpu_studio.hardware.visibility import VARIABLE, left_visible, why_hidden
from gpu_studio.hardware.words import SimulationError

NONE_FOUND = "the NVIDIA driver finds no card in this machine"


def probe(devices: Path = DEVICES, *, users: bool = False, source: Source | None = None) -> dict[str, Any]:
    """Everything that `gpu_studio.plan.Machine` holds; `devices` is where the kernel lists the PCI devices.

    What `$GPU_STUDIO_SIMULATE` names stands in for this machine's cards. Who uses the cards is told only if `users`
    are asked for: that holds the driver up for longer than all the rest. `source` is another one than the usual.
    """
    name = simulated() if source is None else source.simulated
    try:
        if is_recording(name):
            from gpu_studio.hardware.simulated.recording import recorded_cards

            return _told(recorded_cards(Path(name)), name)
        source = source or open_source(name, devices)
    except SimulationError as error:
        return _told(Unknown(str(error)), name)
    return _told(_all_cards(source.pci_cards(), _users_by(source.known) if users else None), name)


def _users_by(known: Callable[[int], Known | None] | None) -> Callable[[Any], dict[str, Any]]:
    def users(card: Any) -> dict[str, Any]:
        # Imported only where there is a card: nobody else waits for what knows the host's processes.
        from gpu_studio.hardware.card_users import users_of

        return {"users": users_of(card, known)}

    return users


def _told(found: list[dict[str, Any]] | Unknown, name: str) -> dict[str, Any]:
    value = os.environ.get(VARIABLE)
    shown = [] if isinstance(found, Unknown) else left_visible(found, value)
    why = "" if shown else _why_none(found, value)
    numbered = [{"index": index, **facts} for index, card in enumerate(shown) for facts in _parts(card)]
    return {"cards": numbered, **host(), "why_no_cards": why, "simulated": bool(name)}


def _parts(card: dict[str, Any]) -> list[dict[str, Any]]:
    """The card; of one in MIG mode its instances, told apart where they are of one size."""
    whole = {name: value for name, value in card.items() if name in ("bus_id", "compute_capability")}
    kinds = [part["instance"] for part in card.get("instances", ())]
    parts = [
        whole | part | {"instance": kind if kinds.count(kind) == 1 else f"{kind} #{kinds[:place].count(kind) + 1}"}
        for place, (kind, part) in enumerate(zip(kinds, card.get("instances", ()), strict=True))
    ]
    return parts or [card]


def _all_cards(listed: list[PciCard], more: Callable[[Any], dict[str, Any]] | None) -> list[dict[str, Any]] | Unknown:
    """Every card in PCI bus order. Cards asleep are not asked, because that would wake them."""
    asleep = [_sleeper(card) for card in listed if card.asleep]
    awake = [card.bus_id for card in listed if not card.asleep]
    if asleep and not awake:
        return asleep
    asked = cards(awake if asleep else None, more)
    if isinstance(asked, Unknown):
        return asleep or asked
    return sorted(_placed(asked, awake) + asleep, key=lambda facts: bus_order(facts["bus_id"]))


def _placed(found: list[dict[str, Any]], listed: list[str]) -> list[dict[str, Any]]:
    """Cards that do not say where they are, at the addresses that the kernel lists and no other card has.

    Else one that is lost would come last, and those behind it be counted one too low.
    """
    free = [bus_id for bus_id in listed if bus_id not in {facts["bus_id"] for facts in found}]
    nowhere = [facts for facts in found if not facts["bus_id"]]
    if len(free) != len(nowhere):
        return found
    places = iter(free)
    return [facts if facts["bus_id"] else {**facts, "bus_id": next(places)} for facts in found]


def _sleeper(card: PciCard) -> dict[str, Any]:
    why = "asleep: it was not woken to ask"
    return {"uuid": "", "name": "NVIDIA card, asleep", "bus_id": card.bus_id, "asleep": True, "why_unknown": why}


def _why_none(found: list[dict[str, Any]] | Unknown, value: str | None) -> str:
    if isinstance(found, Unknown):
        return found.why
    return why_hidden(found, value) if found and value is not None else NONE_FOUND
