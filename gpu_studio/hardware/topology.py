"""The links between cards, and between cards and processors: the values and the matrix of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

Path = Literal["PIX", "PXB", "PHB", "NODE", "SYS", "?"]

PATHS: dict[Path, str] = {
    "PIX": "one PCIe bridge",
    "PXB": "several PCIe bridges, without the processor",
    "PHB": "a PCIe host bridge, typically the processor",
    "NODE": "several PCIe host bridges of one NUMA node",
    "SYS": "the link between NUMA nodes (UPI, Infinity Fabric)",
    "?": "unknown",
}
"""The paths of data between two cards, from the shortest to the longest, as in `nvidia-smi topo`.
"""


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
