"""The model's graph as nodes in rows, each row after those that it takes its input from, and edges between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_studio.placement.model_graph import ModelGraph
from gpu_studio.plan.problems import listed
from gpu_studio.ui.models.plan.lanes.board import OPEN, Board, kind_of
from gpu_studio.ui.models.plan.lanes.folding import groups_of, nested_in
from gpu_studio.ui.units import plural


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a layer runs: the devices by name, and their numbers, which give their colours."""

    devices: tuple[str, ...] = ()
    places: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A layer, or several that are folded, with where they run. `column` counts in its row, of `columns` nodes."""

    title: str
    detail: str
    layers: tuple[str, ...]
    seat: Seat
    row: int
    column: int = 0
    columns: int = 1

    @property
    def folded(self) -> bool:
        """Whether it stands for several layers."""
        return len(self.layers) > 1

    @property
    def text(self) -> str:
        """All of it in a line."""
        return f"{self.title}, {self.detail}, on {listed(self.seat.devices) or 'no device'}"


@dataclass(frozen=True, slots=True)
class Edge:
    """From a node to one that takes its output; `crossing` if that is on another device."""

    source: int
    target: int
    crossing: bool


@dataclass(frozen=True, slots=True)
class Picture:
    """All of it. `edges` are sorted by their source."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    rows: int = 0

    def node_of(self, layer: str) -> int | None:
        """The number of the node that a layer is in."""
        return next((number for number, node in enumerate(self.nodes) if layer in node.layers), None)


def picture_of(graph: ModelGraph, board: Board, unfolded: frozenset[str]) -> Picture:
    """The picture of a model on its devices; groups whose first layer is in `unfolded` are drawn layer by layer."""
    seats = seats_of(board)
    groups = groups_of(graph, seats, unfolded)
    home = {layer: number for number, group in enumerate(groups) for layer in group}
    links = _links(graph, home)
    rows = _rows(len(groups), links)
    nodes = [_node(group, graph, seats, rows[number]) for number, group in enumerate(groups)]
    edges = tuple(Edge(source, target, nodes[source].seat != nodes[target].seat) for source, target in sorted(links))
    return Picture(_in_columns(nodes), edges, max(rows, default=-1) + 1)


def seats_of(board: Board) -> dict[str, Seat]:
    """Where each layer runs, also those that the plan leaves out."""
    found: dict[str, Seat] = {}
    names = {lane.place: lane.device for lane in board.lanes if lane.device != OPEN}
    for lane in board.lanes:
        for item in lane.items:
            before = found.get(item.layer, Seat())
            name = lane.device or names.get(item.place, "")
            found[item.layer] = Seat((*before.devices, name), (*before.places, item.place))
    return found


def _links(graph: ModelGraph, home: Mapping[str, int]) -> set[tuple[int, int]]:
    every = ((home[name], home[layer.name]) for layer in graph.layers for name in layer.inputs)
    # A nested model that is called twice is one node, which could stand before what feeds it.
    return {(source, target) for source, target in every if source < target}


def _rows(count: int, links: set[tuple[int, int]]) -> list[int]:
    """The longest way to each node."""
    rows = [0] * count
    for source, target in sorted(links, key=lambda link: link[1]):
        rows[target] = max(rows[target], rows[source] + 1)
    return rows


def _node(group: tuple[str, ...], graph: ModelGraph, seats: Mapping[str, Seat], row: int) -> Node:
    layers = {layer.name: layer for layer in graph.layers if layer.name in group}
    seat = _seat_of(group, seats)
    if len(group) == 1:
        return Node(group[0], kind_of(layers[group[0]]), group, seat, row)
    title = nested_in(group[0]) or f"{group[0]} … {group[-1]}"
    kinds = list(dict.fromkeys(layers[name].kind for name in group))
    detail = f"{plural(len(group), 'layer')}: {', '.join(kinds[:3])}{' …' if len(kinds) > 3 else ''}"
    return Node(title, detail, group, seat, row)


def _seat_of(group: tuple[str, ...], seats: Mapping[str, Seat]) -> Seat:
    """All devices of a group, each once."""
    every = [seats.get(layer, Seat()) for layer in group]
    pairs = dict.fromkeys(pair for seat in every for pair in zip(seat.devices, seat.places, strict=True))
    return Seat(tuple(device for device, _ in pairs), tuple(place for _, place in pairs))


def _in_columns(nodes: list[Node]) -> tuple[Node, ...]:
    counts: dict[int, int] = {}
    for node in nodes:
        counts[node.row] = counts.get(node.row, 0) + 1
    seen: dict[int, int] = {}
    placed = []
    for node in nodes:
        column = seen.get(node.row, 0)
        seen[node.row] = column + 1
        placed.append(Node(node.title, node.detail, node.layers, node.seat, node.row, column, counts[node.row]))
    return tuple(placed)
