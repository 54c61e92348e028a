"""The simulated library's functions for the links between cards, by their C names.

All cards with NVLink are connected through NVSwitches, as in a DGX; four cards share a NUMA node,
two a PCIe bridge. `profiles` says which can read each other's memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gpu_studio.hardware.simulated.handles import InstanceOf, Where, handle_of
from gpu_studio.hardware.simulated.profiles import SimulatedCard

# ruff: noqa: SLF001 - a byref has no other way to its target than `_obj`
NOT_SUPPORTED, INVALID = 3, 2
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


def _cpus(_card: SimulatedCard, where: Where, _seconds: float, _size: Any, words: Any) -> None:
    first = _node(where) * CPUS_OF_A_NODE
    for cpu in range(first, first + CPUS_OF_A_NODE):
        words._obj[cpu // 64] |= 1 << cpu % 64


def _memory(
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
    "nvmlDeviceGetCpuAffinity": _cpus,
    "nvmlDeviceGetMemoryAffinity": _memory,
}
