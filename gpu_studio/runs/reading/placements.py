"""Where the layers of a run were asked to be, held against where TensorFlow executed them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from gpu_studio.runs.events import AskedPlace, Crossing, PartRow, Placement

Verdict = Literal["as asked", "joined", "elsewhere", "no operations", "not asked"]
_BY_WEIGHT: Final[tuple[Verdict, ...]] = ("elsewhere", "not asked", "joined", "as asked", "no operations")
WAYS: Final = ("forward", "backward", "update")
JOIN: Final = "join"
_ALL_PARTS = ""
"""The part in rows of a version that did not tell parts apart."""


@dataclass(frozen=True, slots=True)
class Misplaced:
    """Operations of a layer, or of a part of it, that were executed on `device`, and not on one of `asked`.

    `part` is that of the event's rows; empty where the layer is not split. With no operations and no device: the part
    has none at all in a pass in which the others of the layer have some.
    """

    layer: str
    way: str
    part: str
    asked: tuple[str, ...]
    device: str
    operations: int


@dataclass(frozen=True, slots=True)
class PassRow:
    """A pass of a layer: the devices that were asked for, and how many operations were executed on which."""

    way: str
    asked: tuple[str, ...]
    ran: tuple[tuple[str, int], ...]
    verdict: Verdict
    wrong: tuple[Misplaced, ...] = ()

    @property
    def operations(self) -> int:
        """How many were executed, wherever."""
        return sum(count for _, count in self.ran)


@dataclass(frozen=True, slots=True)
class LayerRow:
    """A layer with its passes, in the order of `WAYS`.

    `joined_on` is where the outputs of a split layer become one; empty where it is not split. `by_plan` says whether
    the plan names the layer, or the program chose its device; None where that was not told.
    """

    layer: str
    asked: tuple[str, ...]
    joined_on: str
    by_plan: bool | None
    passes: tuple[PassRow, ...]

    @property
    def wrong(self) -> tuple[Misplaced, ...]:
        """What of it is not where it was asked to be."""
        return tuple(each for row in self.passes for each in row.wrong)

    @property
    def operations(self) -> int:
        """How many operations it has in all passes."""
        return sum(row.operations for row in self.passes)

    @property
    def verdict(self) -> Verdict:
        """That of its passes which says most."""
        verdicts = {row.verdict for row in self.passes}
        return next(verdict for verdict in _BY_WEIGHT if verdict in verdicts)


@dataclass(frozen=True, slots=True)
class Judgement:
    """All layers of a model, in its order; and what crossed from device to device in a step, the largest first."""

    layers: tuple[LayerRow, ...]
    crossings: tuple[Crossing, ...]

    @property
    def wrong(self) -> tuple[Misplaced, ...]:
        """What is not where it was asked to be."""
        return tuple(each for layer in self.layers for each in layer.wrong)

    @property
    def operations(self) -> int:
        """How many operations belong to layers."""
        return sum(layer.operations for layer in self.layers)

    @property
    def crossing_bytes(self) -> int:
        """The bytes that are known to cross in a step."""
        return sum(each.bytes or 0 for each in self.crossings)

    @property
    def crossing_is_least(self) -> bool:
        """Whether more crosses than is known: the shape of some tensors is not."""
        return any(each.bytes is None for each in self.crossings)


def judged(placement: Placement) -> Judgement:
    """Hold what was executed against what was asked, layer by layer, pass by pass and part by part."""
    parts = placement.parts or [
        PartRow(layer=layer, way=way, part=_ALL_PARTS, device=device, operations=count)
        for layer, way, device, count in placement.rows
    ]
    by_layer: dict[str, list[PartRow]] = {each.layer: [] for each in placement.asked}
    for row in parts:
        by_layer.setdefault(row.layer, []).append(row)
    asked = {each.layer: each for each in placement.asked}
    layers = tuple(_layer(name, asked.get(name), rows) for name, rows in by_layer.items())
    return Judgement(layers, tuple(sorted(placement.crossings, key=lambda each: -(each.bytes or 0))))


def _layer(name: str, asked: AskedPlace | None, rows: Sequence[PartRow]) -> LayerRow:
    passes = tuple(_pass(way, asked, [row for row in rows if row.way == way]) for way in WAYS)
    if asked is None:
        return LayerRow(name, (), "", None, passes)
    joined_on = asked.joined_on if len(asked.devices) > 1 else ""
    return LayerRow(name, tuple(asked.devices), joined_on, asked.by_plan, passes)


def _pass(way: str, asked: AskedPlace | None, rows: Sequence[PartRow]) -> PassRow:
    ran: Counter[str] = Counter()
    for row in rows:
        ran[row.device] += row.operations
    counts = tuple(sorted(ran.items()))
    if asked is None:
        return PassRow(way, (), counts, "not asked" if counts else "no operations")
    wrong = (*_elsewhere(asked, rows), *_missing(way, asked, rows))
    return PassRow(way, tuple(asked.devices), counts, _verdict(rows, wrong), wrong)


def _verdict(rows: Sequence[PartRow], wrong: Sequence[Misplaced]) -> Verdict:
    if wrong:
        return "elsewhere"
    if not rows:
        return "no operations"
    return "joined" if any(row.part == JOIN for row in rows) else "as asked"


def _elsewhere(asked: AskedPlace, rows: Iterable[PartRow]) -> Iterator[Misplaced]:
    for row in rows:
        wanted = _wanted(asked, row.part)
        if row.device not in wanted:
            part = row.part if len(asked.devices) > 1 else ""
            yield Misplaced(row.layer, row.way, part, wanted, row.device, row.operations)


def _wanted(asked: AskedPlace, part: str) -> tuple[str, ...]:
    """The devices on which a part of a layer is where it was asked to be."""
    home = (asked.joined_on,) if asked.joined_on else tuple(asked.devices[:1])
    if part == JOIN:
        return home
    if part == _ALL_PARTS:
        return tuple(dict.fromkeys((*asked.devices, *(home if len(asked.devices) > 1 else ()))))
    return tuple(asked.devices[int(part) : int(part) + 1]) if part.isdecimal() else ()


def _missing(way: str, asked: AskedPlace, rows: Sequence[PartRow]) -> Iterator[Misplaced]:
    """The parts of a split layer that did nothing in a pass in which others did something."""
    there = {row.part for row in rows if row.part != JOIN}
    if not there or len(asked.devices) < 2:
        return
    ran_on = {row.device for row in rows}
    for number, device in enumerate(asked.devices):
        if _ALL_PARTS in there and device not in ran_on:
            yield Misplaced(asked.layer, way, _ALL_PARTS, (device,), "", 0)
        elif _ALL_PARTS not in there and str(number) not in there:
            yield Misplaced(asked.layer, way, str(number), (device,), "", 0)
