"""Read the topology from NVML, in a process that a driver crash may take down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from gpu_studio.hardware import topology as values
from gpu_studio.hardware.host import DEVICES, plain_bus_id
from gpu_studio.hardware.identity import Seen, same
from gpu_studio.hardware.nvml import Unknown, query

LEVELS: Mapping[int, values.Path] = {
    0: "PIX",
    10: "PIX",
    20: "PXB",
    30: "PHB",
    40: "NODE",
    50: "SYS",
}
"""NVML's nvmlGpuTopologyLevel_t; 0 is two cards on one board."""

# nvmlGpuP2PCapsIndex_t for reading. The constant in nvidia-ml-py is a tuple by mistake.
READING = 0
WHY_NO_PEER = {
    1: "the mainboard's chipset does not allow it",
    2: "these cards do not support it",
    3: "the PCIe bridges between them do not allow it",
    4: "the driver's settings switch it off",
    5: "not supported",
    6: "the driver does not say why",
}
SWITCH = 2
LINK_COUNT_FIELD = 91
MOST_LINKS = 36
NODE_SCOPE = 0
WORDS_OF_CPUS, WORDS_OF_NODES = 64, 16
"""How many 64-bit words to request: 4096 processors, 1024 NUMA nodes."""

Links = list[tuple[str, int]]
"""The far end of each NVLink in use (a PCI address, or `switch`), and the link's version."""


def read(cards: Sequence[tuple[Any, Seen]], devices: Path | None = DEVICES) -> values.Topology:
    """The topology of the cards, each given with its NVML handle.

    `devices` is where the kernel lists them.
    """
    links = [_links(handle) for handle, _ in cards]
    nodes = [
        _node(handle, card, len(own), devices)
        for (handle, card), own in zip(cards, links, strict=True)
    ]
    joints = [
        _joint(cards, links, first, second) for first, second in combinations(range(len(cards)), 2)
    ]
    return values.Topology(tuple(nodes), tuple(joints))


def ranges(numbers: Iterable[int]) -> str:
    """Format numbers as the kernel writes lists of processors: `0-3,8`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _node(handle: Any, card: Seen, nvlinks: int, devices: Path | None) -> values.TopologyNode:
    folder = devices / plain_bus_id(card.bus_id) if devices and card.bus_id else None
    name = f"GPU{card.number}"
    return values.TopologyNode(
        name, card.uuid, card.bus_id, _numa(handle, folder), _cpus(handle, folder), nvlinks
    )


def _cpus(handle: Any, folder: Path | None) -> str:
    answer = query("nvmlDeviceGetCpuAffinity", handle, WORDS_OF_CPUS)
    return _text(folder, "local_cpulist") if isinstance(answer, Unknown) else ranges(_bits(answer))


def _numa(handle: Any, folder: Path | None) -> int | None:
    answer = query("nvmlDeviceGetMemoryAffinity", handle, WORDS_OF_NODES, NODE_SCOPE)
    if not isinstance(answer, Unknown):
        return next(iter(_bits(answer)), None)
    reported = _text(folder, "numa_node")
    # The kernel's -1 means that the machine has no NUMA nodes.
    return int(reported) if reported.isdecimal() else None


def _bits(words: Iterable[int]) -> list[int]:
    return [
        64 * place + bit for place, word in enumerate(words) for bit in range(64) if word >> bit & 1
    ]


def _text(folder: Path | None, name: str) -> str:
    try:
        return (folder / name).read_text("ascii", "replace").strip() if folder else ""
    except OSError:
        return ""


def _joint(
    cards: Sequence[tuple[Any, Seen]], links: Sequence[Links], first: int, second: int
) -> values.Joint:
    (one, _), (other, card) = cards[first], cards[second]
    between = _between(links[first], links[second], card)
    level = query("nvmlDeviceGetTopologyCommonAncestor", one, other)
    peer, why = _peer(query("nvmlDeviceGetP2PStatus", one, other, READING))
    path: values.Path = "?" if isinstance(level, Unknown) else LEVELS.get(level, "?")
    return values.Joint(first, second, path, len(between), max(between, default=None), peer, why)


def _peer(status: int | Unknown) -> tuple[bool | None, str]:
    if isinstance(status, Unknown):
        return None, status.why
    return (True, "") if status == 0 else (False, WHY_NO_PEER.get(status, WHY_NO_PEER[6]))


def _between(own: Links, others: Links, other: Seen) -> list[int]:
    """The versions of the NVLinks between two cards: direct, or those of both to the switches."""
    straight = [
        version for end, version in own if same(Seen(0, bus_id=end), Seen(0, bus_id=other.bus_id))
    ]
    to_switch = [version for end, version in own if end == "switch"]
    from_switch = [version for end, version in others if end == "switch"]
    return straight + min(to_switch, from_switch, key=len)


def _links(handle: Any) -> Links:
    found = [_link(handle, link) for link in range(_link_count(handle))]
    return [link for link in found if link is not None]


def _link_count(handle: Any) -> int:
    """The card's own number of links: beyond it NVML reports a wrong argument."""
    fields = query("nvmlDeviceGetFieldValues", handle, [LINK_COUNT_FIELD])
    if isinstance(fields, Unknown) or fields[0].nvmlReturn != 0:
        return 0
    return min(int(fields[0].value.uiVal), MOST_LINKS)


def _link(handle: Any, link: int) -> tuple[str, int] | None:
    if query("nvmlDeviceGetNvLinkState", handle, link) != 1:
        return None
    version = query("nvmlDeviceGetNvLinkVersion", handle, link)
    return _far_end(handle, link), 0 if isinstance(version, Unknown) else version


def _far_end(handle: Any, link: int) -> str:
    if query("nvmlDeviceGetNvLinkRemoteDeviceType", handle, link) == SWITCH:
        return "switch"
    info = query("nvmlDeviceGetNvLinkRemotePciInfo", handle, link)
    if isinstance(info, Unknown):
        return ""
    return (
        info.busId.decode("ascii", "replace") if isinstance(info.busId, bytes) else str(info.busId)
    )
