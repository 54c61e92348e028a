"""Where the operations of a step were executed, from the graphs that TensorFlow ran, held against what was asked.

TensorFlow places a function's operations, optimises them, and cuts the result into one graph a device. These partition
graphs are what runs, and they are what is read here: an operation that was fused, moved or merged counts as what it
has become. Only whose an operation is comes from this program, by the names that it gave (`scopes.MARK`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from gpu_studio.runs.events import AskedPlace, Event, PartRow, Placement, Warned
from gpu_studio.trainer.executed_graphs import logical_name, watched_graphs
from gpu_studio.trainer.placed.assignment import Seat
from gpu_studio.trainer.placed.crossings import crossings_in
from gpu_studio.trainer.placed.marks import PLUMBING, Mark, mark_of
from gpu_studio.trainer.placed.sizes import Sizes

Row = tuple[str, str, str, int]
MOST_WARNINGS = 12
"""Of so many passes of layers that ran elsewhere there is a warning each; of the others only how many they are."""
_WAYS = ("forward", "backward", "update")


class Proof:
    """Watches the first call of the training steps, and tells where each layer's operations were."""

    def __init__(self, seats: Sequence[Seat], tell: Callable[[Event], object]) -> None:
        self._seats = {seat.number: seat for seat in seats}
        self._tell = tell
        self.graphs: list[Any] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Keep the graphs of the functions that TensorFlow makes ready while this is entered."""
        with watched_graphs() as self.graphs:
            yield

    def report(self, traced: Any, part_rows: float) -> None:
        """Tell the placement, and warn of each layer that is not where the plan says.

        `traced` is the graph in which the step was written down, which knows the shapes of what crosses between
        devices; `part_rows` are the samples of a micro-batch.
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
    """How many operations of each layer, pass and part were executed on which device; without mere plumbing."""
    counts: Counter[tuple[Mark, str]] = Counter()
    for node in (node for graph in graphs for node in graph.node if node.op not in PLUMBING):
        mark = mark_of(node.name)
        if mark is not None:
            counts[mark, logical_name(node.device)] += 1
    return counts


def parts_of(counts: Counter[tuple[Mark, str]], seats: Mapping[int, Seat]) -> Iterator[PartRow]:
    """What was executed of each part of each layer that has a seat, in the order of the seats."""
    mine = [(mark, device) for mark, device in counts if mark.seat in seats]
    for mark, device in sorted(mine, key=lambda each: (_order(each[0]), each[1])):
        path, count = seats[mark.seat].path, counts[mark, device]
        yield PartRow(layer=path, way=mark.way, part=mark.part, device=device, operations=count)


def warnings_of(counts: Counter[tuple[Mark, str]], seats: Mapping[int, Seat]) -> Iterator[Warned]:
    """A warning for each pass of a layer that was not where the plan says; of very many only the first."""
    wrong: Counter[tuple[str, str, str, str]] = Counter()
    for (mark, device), count in counts.items():
        seat = seats.get(mark.seat)
        if seat is not None and device != asked_of(seat, mark):
            wrong[seat.path, mark.way, asked_of(seat, mark), device] += count
    for (path, way, asked, device), count in sorted(wrong.items())[:MOST_WARNINGS]:
        yield Warned(
            message=f"{count} operations of the {way} of {path} were executed on {device}, and not on {asked}.",
            suggestion=f"If {asked} cannot do them, place {path} on a device that can.",
        )
    if len(wrong) > MOST_WARNINGS:
        yield Warned(
            message=f"So it is with {len(wrong) - MOST_WARNINGS} more passes of layers.",
            suggestion="The placement tells of every layer.",
        )


def rows_of(parts: Iterable[PartRow]) -> list[Row]:
    """The same with the parts of each layer summed up."""
    totals: Counter[tuple[str, str, str]] = Counter()
    for row in parts:
        totals[row.layer, row.way, row.device] += row.operations
    return [(*key, count) for key, count in totals.items()]


def _order(mark: Mark) -> tuple[int, int, float]:
    """Layer by layer, forward before backward before update, part by part and the joining last."""
    return mark.seat, _WAYS.index(mark.way), math.inf if mark.part == "join" else int(mark.part)


def _asked(seat: Seat) -> AskedPlace:
    return AskedPlace(layer=seat.path, devices=list(seat.devices), joined_on=seat.home, by_plan=seat.by_plan)


def asked_of(seat: Seat, mark: Mark) -> str:
    """The device that the plan wants operations with this mark on."""
    # A layer of the user's may be called so that it looks like a part that there is not.
    if mark.part == "join" or int(mark.part) >= len(seat.devices):
        return seat.home
    return seat.devices[int(mark.part)]
