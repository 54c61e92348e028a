"""The devices as table rows: figures with units, or the reason why a figure is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpu_studio.common.figures import percent, plural, size_from_mib, used_of
from gpu_studio.contract.samples import Host, HostProcesses
from gpu_studio.hardware.command_words import is_trainer
from gpu_studio.hardware.picture import CardNow, MachinePicture
from gpu_studio.hardware.sample_points import HOST
from gpu_studio.hardware.who import AnyProcess, who
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
        utilisation=Figure(host.why.get("cpu_percent", NOTHING_YET))
        if host.cpu_percent is None
        else Figure(percent(host.cpu_percent), known=True),
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
