"""Simulated cards: how their figures change over time, and NVML's functions on them, by C name.

All cards with NVLink are connected through NVSwitches, as in a DGX; four cards share a NUMA
node, two a PCIe bridge. `profiles` says which can read each other's memory. A handle is a
pointer whose value is the index of a card.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from gpu_studio.common.figures import MIB
from gpu_studio.hardware.simulated.profiles import SimulatedCard, pid_on

# ruff: noqa: SLF001 - a byref has no other way to its target than `_obj`
INVALID = 2
SWITCH = 2
UNDER_ONE_BRIDGE, OF_ONE_NODE, ACROSS = 10, 40, 50
"""NVML's nvmlGpuTopologyLevel_t."""
CARDS_UNDER_A_BRIDGE, CARDS_OF_A_NODE, CPUS_OF_A_NODE = 2, 4, 32
LINK_COUNT_FIELD = 91
SENT_FIELD, RECEIVED_FIELD, EVERY_LINK = 138, 139, 2**32 - 1
UNSIGNED_LONG_LONG = 3
KIB_A_SECOND = 40 * 1024**2
"""The constant rate at which a simulated card with NVLinks sends and receives."""


def _level(_card: SimulatedCard, where: Where, _seconds: float, other: Any, level: Any) -> None:
    one, two = _place(where), _place(handle_of(other))
    near = OF_ONE_NODE if one // CARDS_OF_A_NODE == two // CARDS_OF_A_NODE else ACROSS
    level._obj.value = (
        UNDER_ONE_BRIDGE if one // CARDS_UNDER_A_BRIDGE == two // CARDS_UNDER_A_BRIDGE else near
    )


def _peer(
    card: SimulatedCard, _where: Where, _seconds: float, other: Any, _index: int, status: Any
) -> None:
    status._obj.value = card.peers[_place(handle_of(other))]


def _fields(card: SimulatedCard, _where: Where, seconds: float, count: Any, values: Any) -> None:
    for field in values._obj[: count.value]:
        counts_bytes = field.fieldId in (SENT_FIELD, RECEIVED_FIELD) and field.scopeId == EVERY_LINK
        known = card.nvlinks and (counts_bytes or field.fieldId == LINK_COUNT_FIELD)
        field.nvmlReturn = 0 if known else NOT_SUPPORTED
        if counts_bytes:
            field.valueType, field.value.ullVal = UNSIGNED_LONG_LONG, int(seconds * KIB_A_SECOND)
        else:
            field.value.uiVal = card.nvlinks


def _of_link(value: Callable[[SimulatedCard], int]) -> Callable[..., int | None]:
    def answer(
        card: SimulatedCard, _where: Where, _seconds: float, link: int, target: Any
    ) -> int | None:
        if link >= card.nvlinks:
            return INVALID
        target._obj.value = value(card)
        return None

    return answer


def _cpu_affinity(
    _card: SimulatedCard, where: Where, _seconds: float, _size: Any, words: Any
) -> None:
    first = _node(where) * CPUS_OF_A_NODE
    for cpu in range(first, first + CPUS_OF_A_NODE):
        words._obj[cpu // 64] |= 1 << cpu % 64


def _memory_affinity(
    _card: SimulatedCard, where: Where, _seconds: float, _size: Any, words: Any, _scope: Any
) -> None:
    words._obj[0] |= 1 << _node(where)


def _node(where: Where) -> int:
    return _place(where) // CARDS_OF_A_NODE


def _place(where: Where) -> int:
    return where.place if isinstance(where, InstanceOf) else where


LINK_FUNCTIONS: Final[dict[str, Callable[..., int | None]]] = {
    "nvmlDeviceGetTopologyCommonAncestor": _level,
    "nvmlDeviceGetP2PStatus": _peer,
    "nvmlDeviceGetFieldValues": _fields,
    "nvmlDeviceGetNvLinkState": _of_link(lambda _card: 1),
    "nvmlDeviceGetNvLinkVersion": _of_link(lambda card: 4 if card.capability >= (9, 0) else 3),
    "nvmlDeviceGetNvLinkRemoteDeviceType": _of_link(lambda _card: SWITCH),
    "nvmlDeviceGetCpuAffinity": _cpu_affinity,
    "nvmlDeviceGetMemoryAffinity": _memory_affinity,
}


WARM_UP = 8.0
"""Seconds in which a training takes its memory."""
PAUSE = 45.0
"""Seconds between two breaks for validation, which take a tenth of it."""


@dataclass(frozen=True, slots=True)
class CardMoment:
    """A card at a moment: shares from 0 to 1, the rest in the units of `SimulatedCard`.

    Energy in J, MiB a second.
    """

    utilisation: float
    bus: float
    used: int
    power: float
    temperature: int
    clock: int
    energy: float
    pcie: float


def moment(card: SimulatedCard, place: int, seconds: float) -> CardMoment:
    """The figures of card number `place` after so many seconds. Every fourth card is idle."""
    load = _load(place, seconds) * card.busy
    memory = _share_of_memory(place, seconds) * card.busy
    return CardMoment(
        utilisation=load,
        bus=0.62 * load,
        used=int(memory * (card.total - card.reserved)),
        power=card.idle_power + (card.power - card.idle_power) * 0.92 * load,
        temperature=round(
            32 + (card.slowdown - 40) * (0.15 + 0.75 * load) * min(1.0, 0.3 + seconds / 60)
        ),
        clock=round(card.clock * (0.12 if load < 0.05 else 0.9 + 0.1 * load)),
        energy=(card.idle_power + 0.6 * card.power) * seconds,
        pcie=11_000.0 * load / (8 if card.nvlinks else 1),
    )


def is_idle(place: int) -> bool:
    """Whether nothing runs on the card with this index."""
    return place % 4 == 3


def _load(place: int, seconds: float) -> float:
    if is_idle(place):
        return 0.0
    if (seconds + 11 * place) % PAUSE > 0.9 * PAUSE:
        return 0.12
    wave = math.sin(seconds / 3.1 + place) + 0.5 * math.sin(seconds / 0.9 + 2.3 * place)
    return min(1.0, (0.9 + 0.04 * wave) * min(1.0, 0.2 + seconds / WARM_UP))


def _share_of_memory(place: int, seconds: float) -> float:
    if is_idle(place):
        return 0.0
    target = (0.64, 0.81, 0.42)[place % 3]
    return target * (0.4 + 0.6 * min(1.0, seconds / WARM_UP))


NOT_SUPPORTED, NOT_FOUND, TOO_SMALL = 3, 6, 7
EVENTS = 0x1 | 0x2 | 0x8
PCIE_WIDTH = 16

CardFunction = Callable[..., int | None]
"""Receives card, index, seconds since start and further arguments; returns an error or None."""


def _number(value: Callable[[SimulatedCard, CardMoment], float | None]) -> CardFunction:
    """A function whose last argument receives one number; None is not supported."""

    def answer(card: SimulatedCard, where: Where, seconds: float, *arguments: Any) -> int | None:
        if isinstance(where, InstanceOf):
            return NOT_SUPPORTED
        number = value(card, moment(card, where, seconds))
        if number is None:
            return NOT_SUPPORTED
        arguments[-1]._obj.value = int(number)
        return None

    return answer


def _text(value: Callable[[SimulatedCard, Where], bytes]) -> CardFunction:
    def answer(card: SimulatedCard, where: Where, _seconds: float, text: Any, _length: Any) -> None:
        text.value = value(card, where)

    return answer


def _name(card: SimulatedCard, where: Where) -> bytes:
    return card.mig[where.instance][0].encode() if isinstance(where, InstanceOf) else card.name


def _uuid(card: SimulatedCard, where: Where) -> bytes:
    if not isinstance(where, InstanceOf):
        return card.uuid.encode()
    # As different as those of real instances, and never equal to another card's.
    _, first, _, *rest = card.uuid.split("-")
    return "-".join(("MIG", first, f"{where.instance + 1:04x}", *rest)).encode()


def _pci(card: SimulatedCard, _where: Where, _seconds: float, info: Any) -> None:
    info._obj.busId = card.bus_id.encode()


def _sizes(card: SimulatedCard, where: Where, seconds: float) -> tuple[int, int, int]:
    """Total, used and reserved MiB."""
    if isinstance(where, InstanceOf):
        total = card.mig[where.instance][1]
        return total, total // (3 + where.instance), 0
    if card.mig:
        parts = (_sizes(card, InstanceOf(where, each), seconds) for each in range(len(card.mig)))
        return card.total, sum(used for _, used, _ in parts), card.reserved
    return card.total, moment(card, where, seconds).used, card.reserved


def _memory(card: SimulatedCard, where: Where, seconds: float, memory: Any) -> None:
    total, used, reserved = _sizes(card, where, seconds)
    reported = memory._obj
    reported.total, reported.used, reported.free = (
        total * MIB,
        (used + reserved) * MIB,
        (total - used - reserved) * MIB,
    )


def _memory_2(card: SimulatedCard, where: Where, seconds: float, memory: Any) -> None:
    total, used, reserved = _sizes(card, where, seconds)
    reported = memory._obj
    reported.total, reported.used, reported.reserved = total * MIB, used * MIB, reserved * MIB
    reported.free = (total - used - reserved) * MIB


def _rates(card: SimulatedCard, where: Where, seconds: float, rates: Any) -> int | None:
    if isinstance(where, InstanceOf):
        return NOT_SUPPORTED
    now = moment(card, where, seconds)
    rates._obj.gpu, rates._obj.memory = round(100 * now.utilisation), round(100 * now.bus)
    return None


def _capability(
    card: SimulatedCard, _where: Where, _seconds: float, major: Any, minor: Any
) -> None:
    major._obj.value, minor._obj.value = card.capability


def _limits(card: SimulatedCard, _where: Where, _seconds: float, least: Any, most: Any) -> None:
    least._obj.value, most._obj.value = 1000 * card.power // 4, 1000 * card.power


def _threshold(
    card: SimulatedCard, _where: Where, _seconds: float, kind: Any, degrees: Any
) -> None:
    degrees._obj.value = card.slowdown if kind.value == 1 else card.slowdown + 5


def _clock(card: SimulatedCard, where: Where, seconds: float, kind: Any, clock: Any) -> int | None:
    if isinstance(where, InstanceOf):
        return NOT_SUPPORTED
    clock._obj.value = card.memory_clock if kind.value == 2 else moment(card, where, seconds).clock
    return None


def _most_clock(card: SimulatedCard, _where: Where, _seconds: float, kind: Any, clock: Any) -> None:
    clock._obj.value = card.memory_clock if kind.value == 2 else card.clock


def _mig_mode(
    card: SimulatedCard, _where: Where, _seconds: float, current: Any, pending: Any
) -> int | None:
    if not card.nvlinks:  # among the simulated cards, data centre cards can be split
        return NOT_SUPPORTED
    current._obj.value = pending._obj.value = int(bool(card.mig))
    return None


def _most_instances(_card: SimulatedCard, _where: Where, _seconds: float, count: Any) -> None:
    count._obj.value = 7


def _instance(
    card: SimulatedCard, where: int, _seconds: float, index: Any, handle: Any
) -> int | None:
    if index.value >= len(card.mig):
        return NOT_FOUND
    set_handle(handle, InstanceOf(where, index.value))
    return None


def _processes(
    card: SimulatedCard, where: Where, seconds: float, count: Any, entries: Any
) -> int | None:
    there = _there(card, where, seconds)
    count._obj.value = len(there)
    if there and entries is None:
        return TOO_SMALL
    for entry, (pid, used) in zip(entries or (), there, strict=False):
        entry.pid, entry.usedGpuMemory = pid, used * MIB
    return None


def _there(card: SimulatedCard, where: Where, seconds: float) -> list[tuple[int, int]]:
    """The processes on a card or instance, with the MiB that they hold."""
    if isinstance(where, InstanceOf):
        return [(pid_on(where.place, where.instance), _sizes(card, where, seconds)[1])]
    if card.mig:
        return [
            one
            for each in range(len(card.mig))
            for one in _there(card, InstanceOf(where, each), seconds)
        ]
    return [] if is_idle(where) else [(pid_on(where), moment(card, where, seconds).used)]


def _no_processes(
    _card: SimulatedCard, _where: Where, _seconds: float, count: Any, _entries: Any
) -> None:
    count._obj.value = 0


def _throttle(card: SimulatedCard, now: CardMoment) -> int:
    idle = 0x1 if now.utilisation < 0.05 else 0
    return idle or (0x4 if now.power > 0.86 * card.power else 0)


CARD_FUNCTIONS: Final[dict[str, CardFunction]] = {
    "nvmlDeviceGetUUID": _text(_uuid),
    "nvmlDeviceGetName": _text(_name),
    "nvmlDeviceGetSerial": _text(lambda card, _where: card.uuid[-12:].encode()),
    "nvmlDeviceGetPciInfo_v3": _pci,
    "nvmlDeviceGetArchitecture": _number(lambda card, _now: card.architecture),
    "nvmlDeviceGetCudaComputeCapability": _capability,
    "nvmlDeviceGetCurrPcieLinkGeneration": _number(lambda card, _now: card.pcie),
    "nvmlDeviceGetMaxPcieLinkGeneration": _number(lambda card, _now: card.pcie),
    "nvmlDeviceGetCurrPcieLinkWidth": _number(lambda _card, _now: PCIE_WIDTH),
    "nvmlDeviceGetMaxPcieLinkWidth": _number(lambda _card, _now: PCIE_WIDTH),
    "nvmlDeviceGetEnforcedPowerLimit": _number(lambda card, _now: 1000 * card.power),
    "nvmlDeviceGetPowerManagementLimit": _number(lambda card, _now: 1000 * card.power),
    "nvmlDeviceGetPowerManagementLimitConstraints": _limits,
    "nvmlDeviceGetTemperatureThreshold": _threshold,
    "nvmlDeviceGetMaxClockInfo": _most_clock,
    "nvmlDeviceGetMigMode": _mig_mode,
    "nvmlDeviceGetMaxMigDeviceCount": _most_instances,
    "nvmlDeviceGetMigDeviceHandleByIndex": _instance,
    "nvmlDeviceGetMemoryInfo": _memory,
    "nvmlDeviceGetMemoryInfo_v2": _memory_2,
    "nvmlDeviceGetUtilizationRates": _rates,
    "nvmlDeviceGetPowerUsage": _number(lambda _card, now: 1000 * now.power),
    "nvmlDeviceGetTemperature": _number(lambda _card, now: now.temperature),
    "nvmlDeviceGetClockInfo": _clock,
    "nvmlDeviceGetFanSpeed": _number(
        lambda card, now: 30 + 50 * now.utilisation if card.fan else None
    ),
    "nvmlDeviceGetCurrentClocksEventReasons": _number(_throttle),
    "nvmlDeviceGetPerformanceState": _number(
        lambda _card, now: 0 if now.utilisation >= 0.05 else 8
    ),
    "nvmlDeviceGetTotalEccErrors": _number(lambda card, _now: 0 if card.ecc else None),
    "nvmlDeviceGetTotalEnergyConsumption": _number(lambda _card, now: 1000 * now.energy),
    "nvmlDeviceGetPcieThroughput": _number(lambda _card, now: 1024 * now.pcie),
    "nvmlDeviceGetComputeRunningProcesses_v3": _processes,
    "nvmlDeviceGetGraphicsRunningProcesses_v3": _no_processes,
    "nvmlDeviceGetSupportedEventTypes": _number(lambda _card, _now: EVENTS),
    **LINK_FUNCTIONS,
}


_INSTANCES = 1000


@dataclass(frozen=True, slots=True)
class InstanceOf:
    """A MIG instance, counted from 0, of the card with an index."""

    place: int
    instance: int


Where = int | InstanceOf


def handle_of(handle: Any) -> Where:
    """The card or MIG instance of a handle."""
    number = (ctypes.cast(handle, ctypes.c_void_p).value or 0) - 1
    instance, place = divmod(number, _INSTANCES)
    return InstanceOf(place, instance - 1) if instance else place


def set_handle(reference: Any, where: Where) -> None:
    """Set the handle that `reference`, a `byref`, refers to, to this card or instance."""
    put_handle(reference._obj, where)


def put_handle(handle: Any, where: Where, offset: int = 0) -> None:
    """Set `handle`, or the one at a byte offset in a structure, to this card or instance."""
    number = (
        where.place + _INSTANCES * (where.instance + 1) if isinstance(where, InstanceOf) else where
    )
    ctypes.c_void_p.from_address(ctypes.addressof(handle) + offset).value = number + 1
