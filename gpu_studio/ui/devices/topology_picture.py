"""A topology to draw: cards in columns, PCIe paths as brackets above, NVLinks as rails below.

PCIe paths form a tree, in which each bridge joins what is below it. So one bracket for each
point where branches meet says as much as a line between every two cards, with seven brackets
for eight cards instead of twenty-eight lines. `TopologyLayout` places the parts, in pixels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count

from PySide6.QtCore import QRectF

from gpu_studio.hardware.topology import PATHS, Joint, Path, Topology

Pair = tuple[int, int]
_FEWEST_FOR_A_RAIL = 3


@dataclass(frozen=True, slots=True)
class Bracket:
    """Branches that meet.

    `parts` are their middles in columns; `members` all columns below; `peer` as of a joint.
    """

    path: Path
    parts: tuple[float, ...]
    members: tuple[int, ...]
    below: tuple[Path | None, ...]
    peer: bool | None = None

    @property
    def middle(self) -> float:
        """Where it goes on upwards, in columns."""
        return (self.parts[0] + self.parts[-1]) / 2


@dataclass(frozen=True, slots=True)
class LinkRail:
    """Cards that are all joined to each other by as many NVLinks.

    The rail is drawn in the row `lane` below the cards.
    """

    columns: tuple[int, ...]
    nvlinks: int
    version: int | None
    lane: int = 0


@dataclass(frozen=True, slots=True)
class Band:
    """Neighbouring columns of one NUMA node."""

    first: int
    last: int
    numa: int | None
    cpus: str


@dataclass(frozen=True, slots=True)
class TopologyPicture:
    """What is drawn.

    `order` has the place in `Topology.nodes` of each column, `levels` the kinds of path that there
    are, the nearest first.
    """

    order: tuple[int, ...] = ()
    levels: tuple[Path, ...] = ()
    brackets: tuple[Bracket, ...] = ()
    rails: tuple[LinkRail, ...] = ()
    bands: tuple[Band, ...] = ()

    @property
    def lanes(self) -> int:
        """How many rows of rails there are."""
        return max((rail.lane + 1 for rail in self.rails), default=0)


@dataclass(frozen=True, slots=True)
class _Branch:
    places: tuple[int, ...]
    path: Path | None = None
    branches: tuple[_Branch, ...] = ()


def picture_of(topology: Topology) -> TopologyPicture:
    """The drawing of a topology; an empty one without cards."""
    trees = _trees(topology)
    order = tuple(place for tree in trees for place in tree.places)
    columns = {place: column for column, place in enumerate(order)}
    brackets = tuple(bracket for tree in trees for bracket in _brackets(topology, tree, columns))
    levels = tuple(path for path in PATHS if any(bracket.path == path for bracket in brackets))
    return TopologyPicture(
        order, levels, brackets, _in_lanes(_rails(topology, columns)), _bands(topology, order)
    )


def sentences(topology: Topology) -> tuple[str, ...]:
    """Every link in words, for those who cannot see the drawing."""
    return tuple(_sentence(topology, joint) for joint in topology.pairs())


def links_of(topology: Topology, place: int) -> tuple[str, ...]:
    """The links of one card in words."""
    return tuple(
        _sentence(topology, joint)
        for joint in topology.pairs()
        if place in (joint.first, joint.second)
    )


def _sentence(topology: Topology, joint: Joint) -> str:
    version = f" of version {joint.nvlink_version}" if joint.nvlink_version else ""
    links = (
        f"{joint.nvlinks} NVLink{'s' if joint.nvlinks > 1 else ''}{version}"
        if joint.nvlinks
        else ""
    )
    pcie = (
        f"{joint.path}: over {PATHS[joint.path]}"
        if joint.path != "?"
        else "the path over PCIe is unknown"
    )
    peers = {
        True: "they read each other's memory",
        False: f"no peer access ({joint.why_no_peer})",
        None: "",
    }[joint.peer]
    names = f"{topology.nodes[joint.first].name} and {topology.nodes[joint.second].name}"
    return f"{names}: {'; '.join(filter(None, (links, pcie, peers)))}."


def _trees(topology: Topology) -> list[_Branch]:
    """The cards as branches: the nearest are joined first, then these branches, and so on."""
    branches = [_Branch((place,)) for place in range(len(topology.nodes))]
    for path in PATHS:
        joined = [joint for joint in topology.pairs() if joint.path == path]
        branches = [_joined(path, group) for group in _groups(branches, joined)]
    return branches


def _joined(path: Path, group: list[_Branch]) -> _Branch:
    if len(group) == 1:
        return group[0]
    return _Branch(tuple(place for branch in group for place in branch.places), path, tuple(group))


def _groups(branches: list[_Branch], joints: list[Joint]) -> list[list[_Branch]]:
    """The branches in groups that joints connect, each in the order of its first cards."""
    groups = [[branch] for branch in branches]
    for joint in joints:
        one, other = (_with(groups, place) for place in (joint.first, joint.second))
        if one is not other:
            one.extend(other)
            groups.remove(other)
    return [sorted(group, key=lambda branch: branch.places) for group in groups]


def _with(groups: list[list[_Branch]], place: int) -> list[_Branch]:
    return next(group for group in groups if any(place in branch.places for branch in group))


def _brackets(topology: Topology, tree: _Branch, columns: dict[int, int]) -> Iterator[Bracket]:
    for branch in tree.branches:
        yield from _brackets(topology, branch, columns)
    if tree.path is not None:
        parts = tuple(_middle(branch, columns) for branch in tree.branches)
        members = tuple(sorted(columns[place] for place in tree.places))
        below = tuple(branch.path for branch in tree.branches)
        yield Bracket(tree.path, parts, members, below, _peer(topology, tree))


def _middle(tree: _Branch, columns: dict[int, int]) -> float:
    if not tree.branches:
        return float(columns[tree.places[0]])
    return (_middle(tree.branches[0], columns) + _middle(tree.branches[-1], columns)) / 2


def _peer(topology: Topology, tree: _Branch) -> bool | None:
    """Whether the cards that meet here can read each other's memory; None if not all alike."""
    across = {
        topology.between(one, other).peer
        for number, branch in enumerate(tree.branches)
        for later in tree.branches[number + 1 :]
        for one in branch.places
        for other in later.places
    }
    return across.pop() if len(across) == 1 else None


def _rails(topology: Topology, columns: dict[int, int]) -> Iterator[LinkRail]:
    """The NVLinks.

    First groups in which all are joined to all alike, the largest first, then what is left in
    pairs.
    """
    kinds: dict[tuple[int, int | None], set[Pair]] = {}
    for joint in topology.pairs():
        if joint.nvlinks:
            one, other = sorted((columns[joint.first], columns[joint.second]))
            kinds.setdefault((joint.nvlinks, joint.nvlink_version), set()).add((one, other))
    for (nvlinks, version), pairs in sorted(kinds.items(), key=lambda kind: str(kind[0])):
        for group in _cliques(pairs):
            yield LinkRail(group, nvlinks, version)


def _cliques(pairs: set[Pair]) -> Iterator[tuple[int, ...]]:
    left = set(pairs)
    while left:
        largest = max((_grown(pair, left) for pair in sorted(left)), key=len)
        if len(largest) < _FEWEST_FOR_A_RAIL:
            yield from sorted(left)
            return
        left -= set(_pairs(largest))
        yield largest


def _grown(pair: Pair, pairs: set[Pair]) -> tuple[int, ...]:
    group = list(pair)
    for column in sorted({end for each in pairs for end in each} - set(pair)):
        if all((min(column, member), max(column, member)) in pairs for member in group):
            group.append(column)
    return tuple(sorted(group))


def _pairs(group: tuple[int, ...]) -> Iterator[Pair]:
    return ((one, other) for number, one in enumerate(group) for other in group[number + 1 :])


def _in_lanes(rails: Iterable[LinkRail]) -> tuple[LinkRail, ...]:
    """Each rail in the first row in which it lies upon no other."""
    placed: list[LinkRail] = []
    for rail in sorted(rails, key=lambda rail: (rail.columns[-1] - rail.columns[0], rail.columns)):
        taken = {each.lane for each in placed if _overlap(each, rail)}
        lane = next(lane for lane in count() if lane not in taken)
        placed.append(replace(rail, lane=lane))
    return tuple(placed)


def _overlap(one: LinkRail, other: LinkRail) -> bool:
    return one.columns[0] <= other.columns[-1] and other.columns[0] <= one.columns[-1]


def _bands(topology: Topology, order: tuple[int, ...]) -> tuple[Band, ...]:
    bands: list[Band] = []
    for column, place in enumerate(order):
        node = topology.nodes[place]
        if bands and bands[-1].numa == node.numa:
            bands[-1] = Band(bands[-1].first, column, node.numa, bands[-1].cpus)
        else:
            bands.append(Band(column, column, node.numa, node.cpus))
    return tuple(bands)


MARGIN = 4.0
LEVEL, LANE = 27.0, 24.0
NODE, BELOW_NODE = 26.0, 6.0
CAPTION = 20.0
_WIDEST, _SIDE = 104.0, 3.0


@dataclass(frozen=True, slots=True)
class TopologyLayout:
    """The rows of a drawing that is `width` pixels wide.

    Brackets on top, cards, rails, and the bands' captions.
    """

    picture: TopologyPicture
    width: int

    @property
    def pitch(self) -> float:
        """From one column to the next."""
        return min(_WIDEST, (self.width - 2 * MARGIN) / max(len(self.picture.order), 1))

    @property
    def left(self) -> float:
        """The left edge of the first column: the drawing stands in the middle."""
        return (self.width - self.pitch * len(self.picture.order)) / 2

    @property
    def nodes_top(self) -> float:
        """The upper edge of the cards."""
        return MARGIN + LEVEL * len(self.picture.levels) + (MARGIN if self.picture.levels else 0)

    @property
    def captions_top(self) -> float:
        """The upper edge of the bands' captions."""
        return self.nodes_top + NODE + BELOW_NODE + LANE * self.picture.lanes

    @property
    def height(self) -> int:
        """All of it; nothing without cards."""
        return round(self.captions_top + CAPTION + MARGIN) if self.picture.order else 0

    def x(self, column: float) -> float:
        """The middle of a column."""
        return self.left + (column + 0.5) * self.pitch

    def node(self, column: int) -> QRectF:
        """The box of a card."""
        return QRectF(
            self.x(column) - self.pitch / 2 + _SIDE, self.nodes_top, self.pitch - 2 * _SIDE, NODE
        )

    def band(self, band: Band) -> QRectF:
        """The ground on which the cards of a NUMA node stand."""
        left = self.x(band.first) - self.pitch / 2
        right = self.x(band.last) + self.pitch / 2
        top = self.nodes_top - MARGIN
        return QRectF(left + 1, top, right - left - 2, self.captions_top + CAPTION - top)

    def level_line(self, path: Path) -> float:
        """The height of the brackets of one kind; the nearest path is the lowest."""
        number = self.picture.levels.index(path)
        return self.nodes_top - MARGIN - LEVEL * number - 8

    def lane_line(self, rail: LinkRail) -> float:
        """The height of a rail."""
        return self.nodes_top + NODE + BELOW_NODE + LANE * rail.lane + LANE / 2

    def column_at(self, x: float) -> int | None:
        """The column under a pixel."""
        column = int((x - self.left) // self.pitch)
        return column if 0 <= column < len(self.picture.order) else None
