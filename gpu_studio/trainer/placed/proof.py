"""Compare where a step's operations were executed, in TensorFlow's graphs, with the plan.

TensorFlow places a function's operations, optimises them, and cuts the result into one graph
per device. These partition graphs are what runs, and what is read here: an operation that was
fused, moved or merged counts as what it has become. Only the layer of an operation comes from
this program, by the names that it gave (`placed.devices`), and the size of a tensor from the
graph in which the step was traced.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gpu_studio.contract import AskedPlace, Crossing, Placement, Warned
from gpu_studio.contract.events import Event, PartRow
from gpu_studio.trainer.placed.devices import HOST, PLUMBING, Mark, mark_of
from gpu_studio.trainer.placed.placing import LayerAssignment
from gpu_studio.trainer.step_recording import RECEIVES, SENDS, logical_name, watched_graphs

# The loop condition, which is sent to every device to keep the loop over the steps going.
_LOOP_CONDITION = "LoopCond"


@dataclass(frozen=True, slots=True)
class SentTensor:
    """A tensor that is sent: the operation that makes it, which of its outputs, the receiver."""

    name: str
    output: int
    takers: tuple[str, ...]
    from_device: str
    to_device: str


def crossings_in(
    graphs: Sequence[Any], seats: Mapping[int, LayerAssignment], sizes: Sizes
) -> list[Crossing]:
    """Return what is sent between devices, by edge: from layer to layer, from device to device."""
    found: dict[tuple[str, str, str, str, str], list[float | None]] = defaultdict(list)
    for sent in sends(graphs):
        source, way = _owner(sent.name, seats)
        target = next(
            (layer for layer, _ in (_owner(taker, seats) for taker in sent.takers) if layer), ""
        )
        found[source, target, way, sent.from_device, sent.to_device].append(
            sizes.of(sent.name, sent.output)
        )
    return [_crossing(edge, found[edge]) for edge in sorted(found)]


def sends(graphs: Iterable[Any]) -> Iterator[SentTensor]:
    """Return the tensors that are sent.

    Tensors without content, by which one device only tells another when to begin, are left out.
    What an operation of a card keeps in the host's memory is not sent to the card.
    """
    nodes = [node for graph in graphs for node in graph.node]
    received, takers = _received(nodes), _takers(nodes)
    for node in nodes:
        name = node.attr["tensor_name"].s.decode() if node.op in SENDS else ""
        made, _, output = node.input[0].partition(":") if name else ("", "", "")
        if name.endswith(made) and made and _LOOP_CONDITION not in made:
            edge = name, node.attr["recv_device"].s.decode()
            from_device, to_device = _memory(node), _memory(received.get(edge, node))
            if from_device != to_device:
                yield SentTensor(
                    made, int(output or 0), tuple(takers[edge]), from_device, to_device
                )


def _memory(node: Any) -> str:
    """Return the logical device in whose memory a tensor lies that this operation moves."""
    device = logical_name(node.device)
    return (
        logical_name(HOST) if node.op.startswith("_Host") and device.startswith("GPU") else device
    )


Edge = tuple[str, str]
"""The name of an edge, and the device that receives."""


def _received(nodes: Sequence[Any]) -> dict[Edge, Any]:
    """Return the operations that receive a tensor, by edge."""
    receivers = (node for node in nodes if node.op in RECEIVES)
    return {(node.attr["tensor_name"].s.decode(), node.device): node for node in receivers}


def _takers(nodes: Sequence[Any]) -> dict[Edge, list[str]]:
    """Return the operations that take each tensor that was received, by edge."""
    edges = {(node.device, node.name): edge for edge, node in _received(nodes).items()}
    found: dict[Edge, list[str]] = defaultdict(list)
    for node in nodes:
        for each in node.input:
            edge = edges.get((node.device, each.partition(":")[0]))
            if edge is not None:
                found[edge].append(node.name)
    return found


def _owner(name: str, seats: Mapping[int, LayerAssignment]) -> tuple[str, str]:
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


Row = tuple[str, str, str, int]
MOST_WARNINGS = 12
"""The most passes of misplaced layers that are named in warnings; the others are only counted."""
_PASSES = ("forward", "backward", "update")


class Proof:
    """Watches the first call of the training steps and reports each layer's devices."""

    def __init__(self, seats: Sequence[LayerAssignment], tell: Callable[[Event], object]) -> None:
        self._seats = {seat.number: seat for seat in seats}
        self._tell = tell
        self.graphs: list[Any] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Keep the graphs of the functions that TensorFlow builds while this is entered."""
        with watched_graphs() as self.graphs:
            yield

    def report(self, traced: Any, part_rows: float) -> None:
        """Report the placement, and warn of each layer that is not where the plan says.

        `traced` is the graph in which the step was traced, which knows the shapes of the tensors
        that are sent between devices; `part_rows` are the samples of a micro-batch.
        """
        counts = operations(self.graphs)
        parts = list(parts_of(counts, self._seats))
        self._tell(
            Placement(
                rows=rows_of(parts),
                asked=[_asked(seat) for seat in self._seats.values()],
                crossings=crossings_in(self.graphs, self._seats, Sizes(traced, part_rows)),
                parts=parts,
            )
        )
        for warning in warnings_of(counts, self._seats):
            self._tell(warning)
        self.graphs = []


def operations(graphs: Iterable[Any]) -> Counter[tuple[Mark, str]]:
    """Count the operations of each layer, pass and part on each device, without mere plumbing."""
    counts: Counter[tuple[Mark, str]] = Counter()
    for node in (node for graph in graphs for node in graph.node if node.op not in PLUMBING):
        mark = mark_of(node.name)
        if mark is not None:
            counts[mark, logical_name(node.device)] += 1
    return counts


def parts_of(
    counts: Counter[tuple[Mark, str]], seats: Mapping[int, LayerAssignment]
) -> Iterator[PartRow]:
    """List what was executed of each part of each layer with a seat, in the order of the seats."""
    mine = [(mark, device) for mark, device in counts if mark.seat in seats]
    for mark, device in sorted(mine, key=lambda each: (_order(each[0]), each[1])):
        path, count = seats[mark.seat].path, counts[mark, device]
        yield PartRow(layer=path, way=mark.way, part=mark.part, device=device, operations=count)


def warnings_of(
    counts: Counter[tuple[Mark, str]], seats: Mapping[int, LayerAssignment]
) -> Iterator[Warned]:
    """Warn for each pass of a layer that was not where the plan says.

    Of very many warnings, only the first are given.
    """
    wrong: Counter[tuple[str, str, str, str]] = Counter()
    for (mark, device), count in counts.items():
        seat = seats.get(mark.seat)
        if seat is not None and device != asked_of(seat, mark):
            wrong[seat.path, mark.way, asked_of(seat, mark), device] += count
    for (path, way, asked, device), count in sorted(wrong.items())[:MOST_WARNINGS]:
        yield Warned(
            message=(
                f"{count} operations of the {way} of {path} were executed on "
                f"{device}, and not on {asked}."
            ),
            suggestion=f"If {asked} cannot do them, place {path} on a device that can.",
        )
    if len(wrong) > MOST_WARNINGS:
        yield Warned(
            message=f"So it is with {len(wrong) - MOST_WARNINGS} more passes of layers.",
            suggestion="The placement tells of every layer.",
        )


def rows_of(parts: Iterable[PartRow]) -> list[Row]:
    """Return the same rows with the parts of each layer summed up."""
    totals: Counter[tuple[str, str, str]] = Counter()
    for row in parts:
        totals[row.layer, row.way, row.device] += row.operations
    return [(*key, count) for key, count in totals.items()]


def _order(mark: Mark) -> tuple[int, int, float]:
    """Sort by layer, then forward, backward and update, then by part with the joining last."""
    return mark.seat, _PASSES.index(mark.way), math.inf if mark.part == "join" else int(mark.part)


def _asked(seat: LayerAssignment) -> AskedPlace:
    return AskedPlace(
        layer=seat.path, devices=list(seat.devices), joined_on=seat.home, by_plan=seat.by_plan
    )


def asked_of(seat: LayerAssignment, mark: Mark) -> str:
    """Return the device that the plan wants operations with this mark on."""
    # A user's layer may have a name that looks like a part that does not exist.
    if mark.part == "join" or int(mark.part) >= len(seat.devices):
        return seat.home
    return seat.devices[int(mark.part)]


# The body of the loop over the steps is inlined under this name.
_BODY = re.compile(r"^while/body/_\d+/")


class Sizes:
    """Sizes in bytes of the tensors of a traced graph.

    Its samples' axis is unknown: `rows` stands for it.
    """

    def __init__(self, traced: Any, rows: float) -> None:
        """`rows` are the samples of a micro-batch: the mean, so that they sum to the batch's."""
        self._traced = traced
        self._rows = rows

    def of(self, operation: str, output: int) -> float | None:
        """Return the bytes of an output.

        None if TensorFlow's optimiser created it or it has no shape.
        """
        try:
            tensor = self._traced.get_operation_by_name(_BODY.sub("", operation)).outputs[output]
        except (KeyError, IndexError):
            return None
        shapes = [self._elements(each) for each in (tensor, *_reshaped(tensor))]
        elements = next((each for each in shapes if each is not None), None)
        return None if elements is None else elements * tensor.dtype.size

    def _elements(self, tensor: Any) -> float | None:
        if tensor.shape.rank is None or None in tensor.shape[1:]:
            return None
        axes = list(tensor.shape)
        first = axes[0] if axes else 1
        return float((self._rows if first is None else first) * math.prod(axes[1:]))


def _reshaped(tensor: Any) -> list[Any]:
    """The same numbers in another shape.

    The gradient of a sum has no shape until it is given that of its operand.
    """
    return [
        each.outputs[0]
        for each in tensor.consumers()
        if each.type == "Reshape" and each.inputs[0] is tensor
    ]
