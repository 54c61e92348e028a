"""The links between cards, and between cards and processors: values, matrix and advice.

The advice follows TensorFlow's performance guide (github.com/tensorflow/docs, r1.x
guide/performance/benchmarks and models, "Variable distribution and gradient aggregation"):
where cards read each other's memory, variables belong on the cards and NCCL sums gradients;
where they cannot, copies pass through the host's memory, and models with few weights for their
work keep variables best on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from gpu_studio.plan import CENTRAL_STORAGE, MIRRORED, NONE

Path = Literal["PIX", "PXB", "PHB", "NODE", "SYS", "?"]

PATHS: dict[Path, str] = {
    "PIX": "one PCIe bridge",
    "PXB": "several PCIe bridges, without the processor",
    "PHB": "a PCIe host bridge, typically the processor",
    "NODE": "several PCIe host bridges of one NUMA node",
    "SYS": "the link between NUMA nodes (UPI, Infinity Fabric)",
    "?": "unknown",
}
"""The paths of data between two cards, from shortest to longest, as in `nvidia-smi topo`."""


@dataclass(frozen=True, slots=True)
class TopologyNode:
    """A card in the topology. `cpus` are the nearby processors, `0-15,32-47`.

    Empty and None are unknown. `nvlinks` counts its NVLinks in use, those to switches and to other
    cards together.
    """

    name: str
    uuid: str = ""
    bus_id: str = ""
    numa: int | None = None
    cpus: str = ""
    nvlinks: int = 0


@dataclass(frozen=True, slots=True)
class Joint:
    """Two cards, by their indices in `Topology.nodes`, and the link between them.

    `nvlinks` counts the NVLinks between them, direct or through switches. `peer` says whether each
    can read the other's memory; None is unknown. If it is not True, `why_no_peer` says why in
    words.
    """

    first: int
    second: int
    path: Path = "?"
    nvlinks: int = 0
    nvlink_version: int | None = None
    peer: bool | None = None
    why_no_peer: str = ""

    @property
    def cell(self) -> str:
        """The matrix entry: `NV12` for twelve NVLinks, else the path over PCIe."""
        return f"NV{self.nvlinks}" if self.nvlinks else self.path


@dataclass(frozen=True, slots=True)
class Topology:
    """The cards and the links between them."""

    nodes: tuple[TopologyNode, ...] = ()
    joints: tuple[Joint, ...] = ()

    def between(self, first: int, second: int) -> Joint:
        """The link between two cards, given by index in either order.

        One without facts if unknown.
        """
        low, high = sorted((first, second))
        known = (joint for joint in self.joints if (joint.first, joint.second) == (low, high))
        return next(known, Joint(low, high))

    def pairs(self) -> Iterator[Joint]:
        """The link of each pair of cards, each pair once."""
        return (self.between(*pair) for pair in combinations(range(len(self.nodes)), 2))


def matrix(topology: Topology) -> list[list[str]]:
    """The matrix of `nvidia-smi topo -m`: a row and a column per card, `X` on the diagonal."""
    places = range(len(topology.nodes))
    return [
        ["X" if row == column else topology.between(row, column).cell for column in places]
        for row in places
    ]


def table(topology: Topology) -> list[list[str]]:
    """The matrix with its heading row and column, and each card's processors and NUMA node."""
    names = [node.name for node in topology.nodes]
    heading = ["", *names, "CPU affinity", "NUMA node"]
    rows = zip(topology.nodes, matrix(topology), strict=True)
    return [heading, *([node.name, *cells, node.cpus or "?", _numa(node)] for node, cells in rows)]


def as_text(topology: Topology) -> str:
    """The table for a terminal, with a legend of its entries; empty without cards."""
    if not topology.nodes:
        return ""
    rows = table(topology)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, "", *_legend(topology)])


def _numa(node: TopologyNode) -> str:
    return "?" if node.numa is None else str(node.numa)


def _legend(topology: Topology) -> list[str]:
    cells = {joint.cell for joint in topology.pairs()}
    lines = [
        f"{name:<4} through {what}" for name, what in PATHS.items() if name in cells and name != "?"
    ]
    if any(cell.startswith("NV") for cell in cells):
        lines.append("NV#  over # NVLinks")
    if "?" in cells:
        lines.append("?    the driver does not say")
    return lines


NEARNESS = tuple(PATHS)
TWO_ISLANDS = PAIR = 2


@dataclass(frozen=True, slots=True)
class Advice:
    """What to choose on this machine.

    `mirror` are groups of indices in `Topology.nodes`, the best first. `strategy` and `all_reduce`
    are values of a plan; `variables` is where the strategy would keep the weights.
    """

    strategy: str
    all_reduce: Literal["auto", "nccl", "hierarchical_copy"]
    variables: Literal["cards", "cpu"]
    mirror: tuple[tuple[int, ...], ...]
    words: tuple[str, ...]


def advise(topology: Topology) -> Advice | None:
    """What to choose; None without a card."""
    if not topology.nodes:
        return None
    if len(topology.nodes) == 1:
        return Advice(
            NONE.name, "auto", "cards", ((0,),), ("One card: train on it without a strategy.",)
        )
    groups = islands(topology)
    if len(groups) == len(topology.nodes):
        return _without_peers(topology)
    return _one_island(topology) if len(groups) == 1 else _several(topology, groups)


def islands(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Groups of cards that can read each other's memory, the largest and best linked first.

    Each group grows from the best linked pair: a card joins if it can reach every member.
    """
    left = set(range(len(topology.nodes)))
    found: list[tuple[int, ...]] = []
    for joint in best_pairs(topology):
        if joint.peer and {joint.first, joint.second} <= left:
            group = _grown(topology, joint, left)
            left -= set(group)
            found.append(group)
    found.extend((place,) for place in sorted(left))
    return tuple(sorted(found, key=lambda group: -len(group)))


def best_pairs(topology: Topology) -> list[Joint]:
    """All pairs of cards, those with the fastest copies between them first."""
    return sorted(topology.pairs(), key=_slowness)


def _slowness(joint: Joint) -> tuple[object, ...]:
    version = joint.nvlink_version or 0
    return (
        not joint.peer,
        -joint.nvlinks,
        -version,
        NEARNESS.index(joint.path),
        joint.first,
        joint.second,
    )


def _grown(topology: Topology, joint: Joint, left: set[int]) -> tuple[int, ...]:
    group = [joint.first, joint.second]
    while candidates := [c for c in sorted(left - set(group)) if _reaches_all(topology, c, group)]:
        # A card over NVLink comes before one over PCIe, so that the islands of a DGX-1 are found.
        nearest = min(
            candidates,
            key=lambda c: max(_slowness(topology.between(c, member))[:4] for member in group),
        )
        if not _as_fast(topology, nearest, group):
            break
        group.append(nearest)
    return tuple(sorted(group))


def _reaches_all(topology: Topology, card: int, group: list[int]) -> bool:
    return all(topology.between(card, member).peer for member in group)


def _as_fast(topology: Topology, card: int, group: list[int]) -> bool:
    """Whether a group linked by NVLink stays so with this card."""
    joined = topology.between(group[0], group[1]).nvlinks > 0
    return not joined or all(topology.between(card, member).nvlinks for member in group)


def _one_island(topology: Topology) -> Advice:
    everyone = tuple(range(len(topology.nodes)))
    links = [joint.nvlinks for joint in topology.pairs()]
    way = "over NVLink" if all(links) else "over PCIe"
    who = "Both cards" if len(everyone) == PAIR else f"All {len(everyone)} cards"
    words = [
        f"{who} can read each other's memory {way}: mirror over them, with NCCL.",
        "Variables belong on the cards.",
        *_across_nodes(topology, everyone),
    ]
    return Advice(MIRRORED.name, "nccl", "cards", (everyone,), tuple(words))


def _several(topology: Topology, groups: tuple[tuple[int, ...], ...]) -> Advice:
    reported = " and ".join(_names(topology, group) for group in groups if len(group) > 1)
    words = [
        f"Mirror over {reported}: within each group the cards reach each other fastest. Take NCCL.",
        _between(groups),
    ]
    # Two equal halves are the machine that hierarchical copy was written for (DGX-1).
    halves = len(groups) == TWO_ISLANDS and len(groups[0]) == len(groups[1])
    if halves:
        words.append(
            "Over both groups at once, measure hierarchical_copy against NCCL: "
            "it sums within each group first."
        )
    words.append("Variables belong on the cards.")
    return Advice(MIRRORED.name, "nccl", "cards", groups, tuple(words))


def _between(groups: tuple[tuple[int, ...], ...]) -> str:
    alone = [group for group in groups if len(group) == 1]
    if alone and len(groups) - len(alone) == 1:
        return (
            "A card outside the group makes every step wait for the slowest "
            "way: leave it for another run."
        )
    return "A run over more than one group waits at every step for the slower way between them."


def _without_peers(topology: Topology) -> Advice:
    everyone = tuple(range(len(topology.nodes)))
    words = [
        _why_without(topology),
        (
            "For models with few weights for their work (convolutions), keep the "
            "variables on the CPU: central_storage."
        ),
        (
            "For models with many weights (large dense or embedding layers), mirror with NCCL, and "
            "make the batch large."
        ),
    ]
    return Advice(
        CENTRAL_STORAGE.name,
        "nccl",
        "cpu",
        (everyone,),
        (*words, *_across_nodes(topology, everyone)),
    )


def _why_without(topology: Topology) -> str:
    reasons = sorted({joint.why_no_peer for joint in topology.pairs() if joint.why_no_peer})
    why = f" ({'; '.join(reasons)})" if reasons else ""
    if any(joint.peer is None for joint in topology.pairs()):
        return (
            f"Whether the cards can read each other's memory is unknown{why}: "
            "reckon with copies through the host."
        )
    return (
        f"The cards cannot read each other's memory{why}: what they exchange "
        "passes through the host's memory."
    )


def _across_nodes(topology: Topology, group: tuple[int, ...]) -> list[str]:
    nodes = {topology.nodes[place].numa for place in group} - {None}
    if len(nodes) < TWO_ISLANDS or all(joint.nvlinks for joint in topology.pairs()):
        return []
    return [
        f"They hang on {len(nodes)} NUMA nodes: for a run on fewer cards, take those of one node."
    ]


def _names(topology: Topology, group: tuple[int, ...]) -> str:
    return ", ".join(topology.nodes[place].name for place in group)
