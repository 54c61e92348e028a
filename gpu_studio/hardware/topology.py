"""How the cards are joined to each other and to the host's processors: the values, and the matrix made of them."""

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
"""What data passes on its way between two cards, from the nearest to the farthest, as `nvidia-smi topo` names them."""


@dataclass(frozen=True, slots=True)
class Node:
    """A card in the topology. `cpus` are the host's processors near it, `0-15,32-47`; empty and None are unknown.

    `nvlinks` counts its NVLinks in use, those to switches and to other cards together.
    """

    name: str
    uuid: str = ""
    bus_id: str = ""
    numa: int | None = None
    cpus: str = ""
    nvlinks: int = 0


@dataclass(frozen=True, slots=True)
class Joint:
    """Two cards, by their places in `Topology.nodes`, and what lies between them.

    `nvlinks` counts the NVLinks between them, straight or through switches. `peer` says whether each can read the
    other's memory; None is unknown. If not True, `why_no_peer` says why in words.
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
        """What stands in the matrix: `NV12` for twelve NVLinks, else the way over PCIe."""
        return f"NV{self.nvlinks}" if self.nvlinks else self.path


@dataclass(frozen=True, slots=True)
class Topology:
    """The cards and what lies between each two of them."""

    nodes: tuple[Node, ...] = ()
    joints: tuple[Joint, ...] = ()

    def between(self, first: int, second: int) -> Joint:
        """What lies between two cards, given by their places in either order; one that says nothing if unknown."""
        low, high = sorted((first, second))
        known = (joint for joint in self.joints if (joint.first, joint.second) == (low, high))
        return next(known, Joint(low, high))

    def pairs(self) -> Iterator[Joint]:
        """What lies between each two cards, each pair once."""
        return (self.between(*pair) for pair in combinations(range(len(self.nodes)), 2))


def matrix(topology: Topology) -> list[list[str]]:
    """The matrix of `nvidia-smi topo -m`: a row and a column a card, `X` where a card meets itself."""
    places = range(len(topology.nodes))
    return [["X" if row == column else topology.between(row, column).cell for column in places] for row in places]


def table(topology: Topology) -> list[list[str]]:
    """The matrix with its heading row and column, and each card's processors and NUMA node."""
    names = [node.name for node in topology.nodes]
    heading = ["", *names, "CPU affinity", "NUMA node"]
    rows = zip(topology.nodes, matrix(topology), strict=True)
    return [heading, *([node.name, *cells, node.cpus or "?", _numa(node)] for node, cells in rows)]


def as_text(topology: Topology) -> str:
    """The table for a terminal, and a legend of just what stands in it; empty without cards."""
    if not topology.nodes:
        return ""
    rows = table(topology)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, "", *_legend(topology)])


def _numa(node: Node) -> str:
    return "?" if node.numa is None else str(node.numa)


def _legend(topology: Topology) -> list[str]:
    cells = {joint.cell for joint in topology.pairs()}
    lines = [f"{name:<4} through {what}" for name, what in PATHS.items() if name in cells and name != "?"]
    if any(cell.startswith("NV") for cell in cells):
        lines.append("NV#  over # NVLinks")
    if "?" in cells:
        lines.append("?    the driver does not say")
    return lines
