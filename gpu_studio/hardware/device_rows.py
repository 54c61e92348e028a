"""The devices as rows: for a table, with units; for other programs, as CSV and JSON.

Where a figure is missing, its reason takes its place. A process is described in the few words
that fit a table.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import msgspec

from gpu_studio.common.figures import percent, plural, size_from_mib, used_of
from gpu_studio.common.safe_files import csv_line
from gpu_studio.contract.samples import (
    MEASURED_NEXT,
    CardFacts,
    FastFigures,
    Host,
    HostProcess,
    HostProcesses,
    PcieFigures,
    Process,
    SlowFigures,
)
from gpu_studio.hardware.command_words import is_trainer, run_in, short_command
from gpu_studio.hardware.picture import CardNow, MachinePicture
from gpu_studio.hardware.sample_points import HOST
from gpu_studio.plan import Card, Machine

MAKER = "NVIDIA "
NOT_MEASURED = "not measured"
NOTHING_YET = "…"


@dataclass(frozen=True, slots=True)
class Figure:
    """The text of a cell; if it is not `known`, the reason."""

    text: str = NOTHING_YET
    known: bool = False


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """One physical device or MIG instance.

    `place` is the card's number, which determines its colour. A `place` of None is the host; `more`
    has its load and its disk. `gone` says why a card does not answer; `lost` requests a button to
    try again.
    """

    key: str
    name: str
    detail: str
    place: int | None = None
    tensorflow: str = ""
    total_mib: int | None = None
    used_mib: int | None = None
    reserved_mib: int = 0
    why_no_memory: str = ""
    utilisation: Figure = Figure()
    power: Figure = Figure()
    temperature: Figure = Figure()
    used_by: Figure = Figure()
    gone: str = ""
    lost: bool = False
    instance: bool = False
    more: str = ""

    @property
    def memory(self) -> str:
        """Its memory in words."""
        if self.used_mib is not None or not self.why_no_memory:
            alone = self.place is None and self.used_mib is None and self.total_mib
            return (
                size_from_mib(self.total_mib or 0)
                if alone
                else used_of(self.used_mib, self.total_mib)
            )
        return self.why_no_memory

    @property
    def share(self) -> float | None:
        """The fraction of its memory that programs use, 0…1; None if unknown."""
        if not self.total_mib or self.used_mib is None:
            return None
        return min(1.0, self.used_mib / self.total_mib)

    @property
    def reserved_share(self) -> float:
        """The fraction of its memory that the driver keeps for itself, 0…1."""
        return min(1.0, self.reserved_mib / self.total_mib) if self.total_mib else 0.0


def rows_of_machine(machine: Machine) -> tuple[DeviceRow, ...]:
    """The devices from the inventory, before they are watched: cards in bus order, the CPU last."""
    return (*(_inventoried(card) for card in machine.cards), _cpu(machine, None))


def rows_of(
    picture: MachinePicture, machine: Machine | None, trouble: str = ""
) -> tuple[DeviceRow, ...]:
    """The devices as they are watched; `trouble` says why they are not being watched."""
    rows: list[DeviceRow] = []
    for place, card in enumerate(picture.cards.values()):
        rows.append(_card(place, card, picture, machine, trouble))
        rows += _instances(place, card, picture, trouble)
    return (*rows, _cpu(machine, picture.host, picture.host_processes))


def short_name(name: str) -> str:
    """A card's name without the maker's."""
    short = name.removesuffix(", asleep").removeprefix(MAKER)
    return f"{MAKER}{short}" if short == "card" else short


def figure(card: CardNow, name: str, unit: str, limit: object = None) -> Figure:
    """A figure with its unit and limit, if any; or why it is unknown."""
    value = card.figure(name)
    if not isinstance(value, int | float):
        return Figure(card.why(name))
    reported = (
        f"{value:.0f} / {limit:.0f} {unit}"
        if isinstance(limit, int | float)
        else f"{value:.0f} {unit}"
    )
    return Figure(reported, known=True)


def _inventoried(card: Card) -> DeviceRow:
    return DeviceRow(
        card.uuid or card.bus_id or card.device,
        card.title,
        short_name(card.name),
        card.index,
        "" if card.instance else card.device,
        card.total_mib,
        card.used_mib,
        card.reserved_mib,
        card.why_unknown,
    )


def _card(
    place: int, card: CardNow, picture: MachinePicture, machine: Machine | None, trouble: str
) -> DeviceRow:
    facts, reserved = card.facts, card.figure("memory_reserved_mib")
    used, total = card.figure("memory_used_mib"), card.figure("total_mib")
    gone = facts.gone or trouble
    return DeviceRow(
        facts.card,
        f"GPU {place}",
        short_name(facts.name),
        place,
        _tensorflow(facts.uuid, facts.bus_id, machine) if not gone or facts.asleep else "–",
        total if isinstance(total, int) else None,
        used if isinstance(used, int) else None,
        reserved if isinstance(reserved, int) else 0,
        card.why("memory_used_mib"),
        figure(card, "utilisation_percent", "%"),
        figure(card, "power_w", "W", card.figure("power_limit_w")),
        figure(card, "temperature_c", "°C"),
        _used_by((facts.card, *(part.card for part in facts.instances)), picture),
        gone,
        lost=bool(gone) and not facts.asleep,
    )


def _instances(
    place: int, card: CardNow, picture: MachinePicture, trouble: str
) -> Iterator[DeviceRow]:
    for reported in card.facts.instances:
        now = picture.instances.get(reported.card)
        used = now.figure("memory_used_mib") if now else None
        yield DeviceRow(
            reported.card,
            "└",
            reported.name.rpartition("MIG ")[2] or reported.name,
            place,
            total_mib=reported.total_mib,
            used_mib=used if isinstance(used, int) else None,
            why_no_memory=now.why("memory_used_mib") if now else "",
            utilisation=figure(now, "utilisation_percent", "%") if now else Figure(),
            power=Figure("of the card"),
            temperature=Figure("of the card"),
            used_by=_used_by((reported.card,), picture),
            gone=card.facts.gone or trouble,
            instance=True,
        )


def _utilisation(host: Host) -> Figure:
    if host.cpu_percent is not None:
        return Figure(percent(host.cpu_percent), known=True)
    why = host.why.get("cpu_percent", NOTHING_YET)
    return Figure(NOTHING_YET if why == MEASURED_NEXT else why)


def _cpu(
    machine: Machine | None, host: Host | None, users: HostProcesses | None = None
) -> DeviceRow:
    detail = plural(machine.cpu_cores, "core") if machine else "this computer"
    if host is None:
        total = machine.memory_mib or None if machine else None
        return DeviceRow(HOST, "CPU", detail, None, "CPU:0", total, used_by=Figure("host"))
    return DeviceRow(
        HOST,
        "CPU",
        detail,
        None,
        "CPU:0",
        host.memory_total_mib,
        host.memory_used_mib,
        why_no_memory=host.why.get("memory_used_mib", ""),
        utilisation=_utilisation(host),
        power=Figure(NOT_MEASURED),
        temperature=Figure(NOT_MEASURED),
        used_by=_users_of_host(users) or Figure(_host_words(host)),
        more=_host_words(host),
    )


def _host_words(host: Host) -> str:
    load = "" if host.load_1 is None else f"load {host.load_1:.1f}"
    disk = "" if host.disk_free_mib is None else f"{size_from_mib(host.disk_free_mib)} disk free"
    return " · ".join(filter(None, (load, disk))) or "host"


def _tensorflow(uuid: str, bus_id: str, machine: Machine | None) -> str:
    """TensorFlow's name for a card, matched by UUID or PCI address, never by position."""
    if machine is None:
        return ""
    same = (
        card
        for card in machine.cards
        if (uuid and card.uuid == uuid) or (bus_id and card.bus_id == bus_id)
    )
    found = next(same, None)
    if found is None:
        return "hidden"
    return "–" if found.instance else found.device


def _used_by(keys: tuple[str, ...], picture: MachinePicture) -> Figure:
    """The users of a card and its MIG instances, or of one instance, by their keys."""
    if picture.processes is None:
        return Figure()
    why = next((picture.processes.why[key] for key in keys if key in picture.processes.why), "")
    mine = sorted(
        (each for each in picture.processes.processes if each.card in keys),
        key=_memory,
        reverse=True,
    )
    if why and not mine:
        return Figure(why)
    if not mine:
        return Figure("free")
    return _first_of(mine)


def _users_of_host(users: HostProcesses | None) -> Figure | None:
    """The heavy users of the host, GPU Studio's trainers first; None if there are none."""
    reported = (
        sorted(users.processes, key=lambda each: not is_trainer(each.command or ""))
        if users
        else []
    )
    return _first_of(reported) if reported else None


def _first_of(processes: Sequence[AnyProcess]) -> Figure:
    more = f" + {len(processes) - 1}" if len(processes) > 1 else ""
    return Figure(f"{who(processes[0])}{more}", known=True)


def _memory(process: AnyProcess) -> int:
    return process.memory_mib or 0


AnyProcess = Process | HostProcess


@cache
def me() -> str:
    """The current user."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def run_of(process: AnyProcess) -> str:
    """The name of the run that a process trains; empty if it is not a GPU Studio trainer."""
    return run_in(process.command or "")


def what(process: AnyProcess) -> str:
    """What a process does: its run, or else its program and script."""
    return run_of(process) or short_command(
        process.command or process.why.get("command", "a process")
    )


def who(process: AnyProcess) -> str:
    """The owner of a process, unless it is this user, and what it does, shortened if needed."""
    others = process.user if process.user and process.user != me() else ""
    return " · ".join(filter(None, (others, what(process))))


_NO_FIGURES = frozenset({"card", "why", "instances"})
IDENTITY: Final = tuple(sorted(("index", "uuid", "name", "bus_id", "gone", "asleep")))
"""The columns that identify a card."""
FIGURES: Final = tuple(
    dict.fromkeys(
        name
        for kind in (FastFigures, SlowFigures, PcieFigures, CardFacts)
        for name in kind.__struct_fields__
        if name not in _NO_FIGURES and name not in IDENTITY
    )
)
"""Every figure that a card can have, by its name in `samples`."""
COLUMNS: Final = ("time", "simulated", "practice", "card", *IDENTITY, *FIGURES)
_INSTANCE_FIGURES = ("total_mib", "memory_used_mib", "memory_free_mib", "utilisation_percent")


def csv_lines(picture: MachinePicture) -> list[str]:
    """A heading and a line for each card; an unknown figure is its reason in words."""
    lines = [csv_line(COLUMNS)]
    for card in picture.cards.values():
        facts = msgspec.to_builtins(card.facts) | {
            "time": picture.time,
            "simulated": picture.simulated,
            "practice": picture.practice,
        }
        lines.append(
            csv_line(facts[name] if name not in FIGURES else _cell(card, name) for name in COLUMNS)
        )
    return lines


def _cell(card: CardNow, name: str) -> Any:
    value = card.figure(name)
    if value is None:
        return card.why(name)
    return "; ".join(value) or "nothing" if isinstance(value, list) else value


def document(picture: MachinePicture) -> dict[str, Any]:
    """Everything as plain JSON values; the help of `gpu-studio devices` explains each key."""
    return {
        "time": picture.time,
        "simulated": picture.simulated,
        "practice": picture.practice,
        "why": picture.why,
        "driver": picture.driver,
        "cuda": picture.cuda,
        "cards": [_card_document(card, picture) for card in picture.cards.values()],
        "processes": _plain(picture.processes.processes if picture.processes else []),
        "processes_why": dict(picture.processes.why) if picture.processes else {},
        "host_processes": _plain(
            picture.host_processes.processes if picture.host_processes else []
        ),
        "host_processes_why": picture.host_processes.why if picture.host_processes else "",
        "host": {**_plain(picture.host), "time": picture.host.time} if picture.host else None,
        "events": _plain(list(picture.events)),
        "notes": _plain(list(picture.notes)),
    }


def _card_document(card: CardNow, picture: MachinePicture) -> dict[str, Any]:
    identity = {name: getattr(card.facts, name) for name in ("card", *IDENTITY)}
    instances = [
        picture.instances[each.card]
        for each in card.facts.instances
        if each.card in picture.instances
    ]
    return (
        identity
        | _figures(card, FIGURES)
        | {"instances": [_instance_document(each) for each in instances]}
    )


def _instance_document(instance: CardNow) -> dict[str, Any]:
    return {"card": instance.facts.card, "name": instance.facts.name} | _figures(
        instance, _INSTANCE_FIGURES
    )


def _figures(card: CardNow, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: card.figure(name) for name in names}
    return values | {
        "why": {name: card.why(name) for name, value in values.items() if value is None}
    }


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
