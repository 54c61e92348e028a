"""Compare where a run's layers were requested to run with where TensorFlow executed them.

The words are the same in the window and the command line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from gpu_studio.common.figures import grouped, plural
from gpu_studio.contract import AskedPlace, Crossing, Placement
from gpu_studio.contract.events import PartRow
from gpu_studio.plan import listed

Verdict = Literal["as asked", "joined", "elsewhere", "no operations", "not asked"]
_BY_WEIGHT: Final[tuple[Verdict, ...]] = (
    "elsewhere",
    "not asked",
    "joined",
    "as asked",
    "no operations",
)
PASSES: Final = ("forward", "backward", "update")
JOIN: Final = "join"
_ALL_PARTS = ""
"""The part in rows of a version that did not tell parts apart."""


@dataclass(frozen=True, slots=True)
class MisplacedOperations:
    """Operations of a layer, or a part of it, that ran on `device` and not on one of `asked`.

    `part` is that of the event's rows; empty if the layer is not split. Without operations and
    device: the part has none in a pass in which other parts of the layer have some.
    """

    layer: str
    way: str
    part: str
    asked: tuple[str, ...]
    device: str
    operations: int


@dataclass(frozen=True, slots=True)
class PassRow:
    """A pass of a layer: the requested devices, and the number of operations executed on each."""

    way: str
    asked: tuple[str, ...]
    ran: tuple[tuple[str, int], ...]
    verdict: Verdict
    wrong: tuple[MisplacedOperations, ...] = ()

    @property
    def operations(self) -> int:
        """The number of operations, on all devices."""
        return sum(count for _, count in self.ran)


@dataclass(frozen=True, slots=True)
class LayerRow:
    """A layer with its passes, in the order of `PASSES`.

    `joined_on` is where the outputs of a split layer are joined; empty if it is not split.
    `by_plan` says whether the plan names the layer or the program chose its device; None if
    unknown.
    """

    layer: str
    asked: tuple[str, ...]
    joined_on: str
    by_plan: bool | None
    passes: tuple[PassRow, ...]

    @property
    def wrong(self) -> tuple[MisplacedOperations, ...]:
        """The operations that ran elsewhere than requested."""
        return tuple(each for row in self.passes for each in row.wrong)

    @property
    def operations(self) -> int:
        """The number of operations in all passes."""
        return sum(row.operations for row in self.passes)

    @property
    def verdict(self) -> Verdict:
        """The most significant verdict of its passes."""
        verdicts = {row.verdict for row in self.passes}
        return next(verdict for verdict in _BY_WEIGHT if verdict in verdicts)


@dataclass(frozen=True, slots=True)
class Judgement:
    """All layers of a model, in its order.

    And what crossed from device to device in a step, the largest first.
    """

    layers: tuple[LayerRow, ...]
    crossings: tuple[Crossing, ...]

    @property
    def wrong(self) -> tuple[MisplacedOperations, ...]:
        """The operations that ran elsewhere than requested."""
        return tuple(each for layer in self.layers for each in layer.wrong)

    @property
    def operations(self) -> int:
        """The number of operations that belong to layers."""
        return sum(layer.operations for layer in self.layers)

    @property
    def crossing_bytes(self) -> int:
        """The bytes known to be transferred in a step."""
        return sum(each.bytes or 0 for each in self.crossings)

    @property
    def crossing_is_least(self) -> bool:
        """Whether more is transferred than known: some tensors' shapes are unknown."""
        return any(each.bytes is None for each in self.crossings)


def judged(placement: Placement) -> Judgement:
    """Compare executed with requested placement by layer, pass and part."""
    parts = placement.parts or [
        PartRow(layer=layer, way=way, part=_ALL_PARTS, device=device, operations=count)
        for layer, way, device, count in placement.rows
    ]
    by_layer: dict[str, list[PartRow]] = {each.layer: [] for each in placement.asked}
    for row in parts:
        by_layer.setdefault(row.layer, []).append(row)
    asked = {each.layer: each for each in placement.asked}
    layers = tuple(_layer(name, asked.get(name), rows) for name, rows in by_layer.items())
    return Judgement(
        layers, tuple(sorted(placement.crossings, key=lambda each: -(each.bytes or 0)))
    )


def _layer(name: str, asked: AskedPlace | None, rows: Sequence[PartRow]) -> LayerRow:
    passes = tuple(_pass(way, asked, [row for row in rows if row.way == way]) for way in PASSES)
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


def _verdict(rows: Sequence[PartRow], wrong: Sequence[MisplacedOperations]) -> Verdict:
    if wrong:
        return "elsewhere"
    if not rows:
        return "no operations"
    return "joined" if any(row.part == JOIN for row in rows) else "as asked"


def _elsewhere(asked: AskedPlace, rows: Iterable[PartRow]) -> Iterator[MisplacedOperations]:
    for row in rows:
        wanted = _wanted(asked, row.part)
        if row.device not in wanted:
            part = row.part if len(asked.devices) > 1 else ""
            yield MisplacedOperations(row.layer, row.way, part, wanted, row.device, row.operations)


def _wanted(asked: AskedPlace, part: str) -> tuple[str, ...]:
    """The devices on which a part of a layer runs as requested."""
    home = (asked.joined_on,) if asked.joined_on else tuple(asked.devices[:1])
    if part == JOIN:
        return home
    if part == _ALL_PARTS:
        return tuple(dict.fromkeys((*asked.devices, *(home if len(asked.devices) > 1 else ()))))
    return tuple(asked.devices[int(part) : int(part) + 1]) if part.isdecimal() else ()


def _missing(way: str, asked: AskedPlace, rows: Sequence[PartRow]) -> Iterator[MisplacedOperations]:
    """The parts of a split layer without operations in a pass in which other parts have some."""
    there = {row.part for row in rows if row.part != JOIN}
    if not there or len(asked.devices) < 2:
        return
    ran_on = {row.device for row in rows}
    for number, device in enumerate(asked.devices):
        if _ALL_PARTS in there and device not in ran_on:
            yield MisplacedOperations(asked.layer, way, _ALL_PARTS, (device,), "", 0)
        elif _ALL_PARTS not in there and str(number) not in there:
            yield MisplacedOperations(asked.layer, way, str(number), (device,), "", 0)


NONE: Final = "–"
NAMED: Final = 3
"""So many names are written out; of more only how many they are."""


def headline(found: Judgement) -> str:
    """Whether the layers ran where they were placed, in a sentence or two."""
    return _mismatch(found) if found.wrong else _agreement(found)


def choice(found: Judgement) -> str:
    """The layers that the plan leaves out and the program placed, in a sentence; empty if none."""
    left = [layer.layer for layer in found.layers if layer.by_plan is False]
    return f"The plan leaves out {_some(left)}: placed where the inputs are." if left else ""


def asked_in_words(layer: LayerRow) -> str:
    """The requested devices: `CPU:1`, `CPU:0 + CPU:1, joined on CPU:2`."""
    if not layer.asked:
        return "not told"
    joined = f", joined on {layer.joined_on}" if layer.joined_on else ""
    return f"{' + '.join(layer.asked)}{joined}"


def ran_in_words(row: PassRow) -> str:
    """The devices that ran a pass, with the number of operations: `CPU:1 12`; `–` if none."""
    return ", ".join(f"{device} {grouped(count)}" for device, count in row.ran) or NONE


def misplaced_in_words(each: MisplacedOperations) -> str:
    """What ran elsewhere than requested, in a sentence."""
    asked = listed(each.asked, "or") or "any device that was asked for"
    if not each.operations:
        return f"The {each.way} of {each.layer} did nothing on {asked}, where a part of it was put."
    part = f", part {int(each.part) + 1}," if each.part.isdecimal() else ""
    part = ", where its parts are joined," if each.part == JOIN else part
    done = plural(each.operations, "operation")
    ran = "was" if each.operations == 1 else "were"
    return (
        f"{done} of the {each.way} of {each.layer}{part} {ran} executed on "
        f"{each.device}, and not on {asked}."
    )


def edge_in_words(each: Crossing) -> str:
    """The layers that send and receive.

    What belongs to none is the data, the loss or the step counter.
    """
    if not each.source and not each.target:
        return "data, loss and counters"
    return f"{each.source or 'data or loss'} → {each.target or 'loss or counters'}"


def _agreement(found: Judgement) -> str:
    counted = plural(found.operations, "operation")
    busy = [layer for layer in found.layers if layer.operations]
    if not busy:
        return "TensorFlow executed no operation of any layer."
    if not all(layer.asked for layer in busy):
        return f"The run does not tell where its layers were put: {counted}."
    if len(busy) < len(found.layers):
        share = f"{grouped(len(busy))} of {grouped(len(found.layers))}"
        return f"All layers that compute, {share}, ran where they were put: {counted}."
    if len(busy) == 1:
        return f"The layer {busy[0].layer} ran where it was put: {counted}."
    return f"All {grouped(len(busy))} layers ran where they were put: {counted}."


def _mismatch(found: Judgement) -> str:
    strayed = [each for each in found.wrong if each.operations]
    said = [misplaced_in_words(each) for each in found.wrong if not each.operations]
    if strayed:
        layers = list(dict.fromkeys(each.layer for each in strayed))
        count = grouped(sum(each.operations for each in strayed))
        whole = plural(found.operations, "operation")
        said.insert(
            0, f"{count} of {whole} ran on another device than asked: those of {_some(layers)}."
        )
    more = f" And {grouped(len(said) - NAMED)} more." if len(said) > NAMED else ""
    return " ".join(said[:NAMED]) + more


def _some(names: Sequence[str]) -> str:
    if len(names) <= NAMED + 1:
        return listed(names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"
