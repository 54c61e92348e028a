"""The model's graph as nodes in rows, each row after its inputs, and edges between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpu_studio.common.figures import plural
from gpu_studio.placement.plan_facts import GraphLayer, ModelGraph
from gpu_studio.plan import listed
from gpu_studio.ui.plan.layers.board import OPEN, Board, kind_of

FOLD_FROM = 24
"""A model of so many layers is drawn with its chains folded."""
SHORTEST_CHAIN = 3


def groups_of(
    graph: ModelGraph, where: Mapping[str, object], unfolded: frozenset[str]
) -> list[tuple[str, ...]]:
    """Return the layers of `graph` in groups, in order; most groups have one layer.

    A nested model is a group. In a large model, so is a chain of at least three layers in which
    each only feeds the next, as long as `where` is the same. A group whose first layer is in
    `unfolded` is not folded.
    """
    taken = _takers(graph)
    groups: list[list[GraphLayer]] = []
    for layer in graph.layers:
        last = groups[-1] if groups else None
        if last is not None and _belongs(
            last[-1], layer, taken, where, chains=len(graph.layers) >= FOLD_FROM
        ):
            last.append(layer)
        else:
            groups.append([layer])
    return [part for group in groups for part in _kept([layer.name for layer in group], unfolded)]


def nested_in(name: str) -> str:
    """Return the nested model that a layer is in; empty if there is none."""
    return name.rpartition("/")[0].partition("/")[0]


def _takers(graph: ModelGraph) -> dict[str, int]:
    count: dict[str, int] = {}
    for layer in graph.layers:
        for name in layer.inputs:
            count[name] = count.get(name, 0) + 1
    return count


def _belongs(
    before: GraphLayer,
    layer: GraphLayer,
    taken: Mapping[str, int],
    where: Mapping[str, object],
    *,
    chains: bool,
) -> bool:
    if nested_in(before.name) or nested_in(layer.name):
        return nested_in(before.name) == nested_in(layer.name)
    alone = layer.inputs == (before.name,) and taken.get(before.name) == 1
    return chains and alone and where.get(before.name) == where.get(layer.name)


def _kept(names: Sequence[str], unfolded: frozenset[str]) -> list[tuple[str, ...]]:
    together = len(names) >= SHORTEST_CHAIN or (len(names) > 1 and bool(nested_in(names[0])))
    if together and names[0] not in unfolded:
        return [tuple(names)]
    return [(name,) for name in names]


@dataclass(frozen=True, slots=True)
class NodeDevices:
    """Where a layer runs: the names of the devices, and their numbers, which give their colours."""

    devices: tuple[str, ...] = ()
    places: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A layer, or several folded ones, and where they run.

    `column` is its place in a row of `columns` nodes.
    """

    title: str
    detail: str
    layers: tuple[str, ...]
    seat: NodeDevices
    row: int
    column: int = 0
    columns: int = 1

    @property
    def folded(self) -> bool:
        """Whether it stands for several layers."""
        return len(self.layers) > 1

    @property
    def text(self) -> str:
        """Everything about it in a line."""
        return f"{self.title}, {self.detail}, on {listed(self.seat.devices) or 'no device'}"


@dataclass(frozen=True, slots=True)
class Edge:
    """From a node to one that reads its output; `crossing` if that is on another device."""

    source: int
    target: int
    crossing: bool


@dataclass(frozen=True, slots=True)
class GraphPicture:
    """The nodes and edges. `edges` are sorted by their source."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[Edge, ...] = ()
    rows: int = 0

    def node_of(self, layer: str) -> int | None:
        """The number of the node that a layer is in."""
        return next(
            (number for number, node in enumerate(self.nodes) if layer in node.layers), None
        )


def picture_of(graph: ModelGraph, board: Board, unfolded: frozenset[str]) -> GraphPicture:
    """Return the picture of a model on its devices.

    Groups whose first layer is in `unfolded` are drawn layer by layer.
    """
    seats = seats_of(board)
    groups = groups_of(graph, seats, unfolded)
    home = {layer: number for number, group in enumerate(groups) for layer in group}
    links = _links(graph, home)
    rows = _rows(len(groups), links)
    nodes = [_node(group, graph, seats, rows[number]) for number, group in enumerate(groups)]
    edges = tuple(
        Edge(source, target, nodes[source].seat != nodes[target].seat)
        for source, target in sorted(links)
    )
    return GraphPicture(_in_columns(nodes), edges, max(rows, default=-1) + 1)


def seats_of(board: Board) -> dict[str, NodeDevices]:
    """Return where each layer runs, including layers that the plan leaves out."""
    found: dict[str, NodeDevices] = {}
    names = {lane.place: lane.device for lane in board.lanes if lane.device != OPEN}
    for lane in board.lanes:
        for item in lane.items:
            before = found.get(item.layer, NodeDevices())
            name = lane.device or names.get(item.place, "")
            found[item.layer] = NodeDevices((*before.devices, name), (*before.places, item.place))
    return found


def _links(graph: ModelGraph, home: Mapping[str, int]) -> set[tuple[int, int]]:
    every = ((home[name], home[layer.name]) for layer in graph.layers for name in layer.inputs)
    # A nested model that is called twice is one node, which could precede what feeds it.
    return {(source, target) for source, target in every if source < target}


def _rows(count: int, links: set[tuple[int, int]]) -> list[int]:
    """Return the length of the longest path to each node."""
    rows = [0] * count
    for source, target in sorted(links, key=lambda link: link[1]):
        rows[target] = max(rows[target], rows[source] + 1)
    return rows


def _node(
    group: tuple[str, ...], graph: ModelGraph, seats: Mapping[str, NodeDevices], row: int
) -> GraphNode:
    layers = {layer.name: layer for layer in graph.layers if layer.name in group}
    seat = _seat_of(group, seats)
    if len(group) == 1:
        return GraphNode(group[0], kind_of(layers[group[0]]), group, seat, row)
    title = nested_in(group[0]) or f"{group[0]} … {group[-1]}"
    kinds = list(dict.fromkeys(layers[name].kind for name in group))
    detail = (
        f"{plural(len(group), 'layer')}: {', '.join(kinds[:3])}{' …' if len(kinds) > 3 else ''}"
    )
    return GraphNode(title, detail, group, seat, row)


def _seat_of(group: tuple[str, ...], seats: Mapping[str, NodeDevices]) -> NodeDevices:
    """Return all devices of a group, each once."""
    every = [seats.get(layer, NodeDevices()) for layer in group]
    pairs = dict.fromkeys(
        pair for seat in every for pair in zip(seat.devices, seat.places, strict=True)
    )
    return NodeDevices(tuple(device for device, _ in pairs), tuple(place for _, place in pairs))


def _in_columns(nodes: list[GraphNode]) -> tuple[GraphNode, ...]:
    counts: dict[int, int] = {}
    for node in nodes:
        counts[node.row] = counts.get(node.row, 0) + 1
    seen: dict[int, int] = {}
    placed = []
    for node in nodes:
        column = seen.get(node.row, 0)
        seen[node.row] = column + 1
        placed.append(
            GraphNode(
                node.title, node.detail, node.layers, node.seat, node.row, column, counts[node.row]
            )
        )
    return tuple(placed)
