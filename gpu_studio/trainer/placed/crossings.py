"""What crosses from device to device in a step: the sends between the graphs that TensorFlow executed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpu_studio.runs.events import Crossing
from gpu_studio.trainer.executed_graphs import RECEIVES, SENDS, logical_name
from gpu_studio.trainer.placed.assignment import Seat
from gpu_studio.trainer.placed.marks import mark_of
from gpu_studio.trainer.placed.sizes import Sizes

# The truth value that keeps the loop over the steps going on every device.
_LOOP_CONDITION = "LoopCond"


@dataclass(frozen=True, slots=True)
class Sent:
    """One tensor that is sent: the operation that makes it, which of its outputs, and who takes it."""

    name: str
    output: int
    takers: tuple[str, ...]
    from_device: str
    to_device: str


def crossings_in(graphs: Sequence[Any], seats: Mapping[int, Seat], sizes: Sizes) -> list[Crossing]:
    """What crosses, by edge: from layer to layer, and from device to device."""
    found: dict[tuple[str, str, str, str, str], list[float | None]] = defaultdict(list)
    for sent in sends(graphs):
        source, way = _owner(sent.name, seats)
        target = next((layer for layer, _ in (_owner(taker, seats) for taker in sent.takers) if layer), "")
        found[source, target, way, sent.from_device, sent.to_device].append(sizes.of(sent.name, sent.output))
    return [_crossing(edge, found[edge]) for edge in sorted(found)]


def sends(graphs: Iterable[Any]) -> Iterator[Sent]:
    """The tensors that are sent; not those without content, by which one device only tells another when to begin."""
    nodes = [node for graph in graphs for node in graph.node]
    takers = _takers(nodes)
    for node in nodes:
        name = node.attr["tensor_name"].s.decode() if node.op in SENDS else ""
        made, _, output = node.input[0].partition(":") if name else ("", "", "")
        if name.endswith(made) and made and _LOOP_CONDITION not in made:
            to_device = logical_name(node.attr["recv_device"].s.decode())
            yield Sent(made, int(output or 0), tuple(takers[name, to_device]), logical_name(node.device), to_device)


def _takers(nodes: Sequence[Any]) -> dict[tuple[str, str], list[str]]:
    """Who takes what is received, by the name of the edge and the device."""
    received = {
        (node.device, node.name): (node.attr["tensor_name"].s.decode(), logical_name(node.device))
        for node in nodes
        if node.op in RECEIVES
    }
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for node in nodes:
        for each in node.input:
            edge = received.get((node.device, each.partition(":")[0]))
            if edge is not None:
                found[edge].append(node.name)
    return found


def _owner(name: str, seats: Mapping[int, Seat]) -> tuple[str, str]:
    mark = mark_of(name)
    if mark is None or mark.seat not in seats:
        return "", "other"
    return seats[mark.seat].path, mark.way


def _crossing(edge: tuple[str, str, str, str, str], sizes: Sequence[float | None]) -> Crossing:
    source, target, way, from_device, to_device = edge
    known = [size for size in sizes if size is not None]
    return Crossing(
        source=source,
        target=target,
        way=way,
        from_device=from_device,
        to_device=to_device,
        tensors=len(sizes),
        bytes=round(sum(known)) if len(known) == len(sizes) else None,
    )
