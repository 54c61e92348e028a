"""Placement events without training: every operation where it was requested, or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from gpu_studio.contract.events import (
    AskedPlace,
    Crossing,
    PartRow,
    Placement,
    Stage,
    StageSpan,
    Timeline,
)
from gpu_studio.runs.reading.placements import PASSES

MLP = {
    "flatten": ("CPU:0",),
    "dense": ("CPU:0", "CPU:1"),
    "dense_1": ("CPU:2",),
    "dense_2": ("CPU:2",),
    "outputs": ("CPU:3",),
}
"""Where an mlp's layers were put, the second split; the plan leaves the first one out."""
CROSSINGS = (
    Crossing(source="dense", target="dense_1", way="forward", from_device="CPU:0",
             to_device="CPU:2", tensors=3, bytes=65_536),
    Crossing(source="dense_2", target="outputs", way="forward", from_device="CPU:2",
             to_device="CPU:3", tensors=3, bytes=262_144),
    Crossing(source="outputs", target="dense_2", way="backward", from_device="CPU:3",
             to_device="CPU:2", tensors=3, bytes=262_144),
    Crossing(source="", target="", way="other", from_device="CPU:0", to_device="CPU:3", tensors=2,
             bytes=None),
)  # fmt: skip


def asked_of(layers: Mapping[str, Sequence[str]], left_out: Iterable[str] = ()) -> list[AskedPlace]:
    """What a plan with these layers asks for.

    A split layer is joined on the first of its devices.
    """
    out = set(left_out)
    return [
        AskedPlace(layer=name, devices=list(devices), joined_on=devices[0], by_plan=name not in out)
        for name, devices in layers.items()
    ]


def rows_of(asked: AskedPlace, operations: int = 6) -> list[PartRow]:
    """A row for each part in each pass, and for the joining where the layer is split.

    All as asked.
    """
    parts = [(str(number), device) for number, device in enumerate(asked.devices)]
    if len(parts) > 1:
        parts.append(("join", asked.joined_on))
    return [
        PartRow(layer=asked.layer, way=way, part=part, device=device, operations=operations)
        for way in PASSES
        for part, device in parts
        if (way, part) != ("update", "join")
    ]


def placement_of(
    asked: Sequence[AskedPlace], parts: Sequence[PartRow], crossings: Sequence[Crossing] = ()
) -> Placement:
    """The event, its rows summed over the parts."""
    rows: dict[tuple[str, str, str], int] = {}
    for row in parts:
        key = row.layer, row.way, row.device
        rows[key] = rows.get(key, 0) + row.operations
    summed = [(*key, count) for key, count in rows.items()]
    return Placement(rows=summed, asked=list(asked), parts=list(parts), crossings=list(crossings))


def mlp_placement(*, strayed: bool = False) -> Placement:
    """A placement of the mlp.

    If `strayed`, the forward of dense_1 ran on CPU:0, and the parts of dense in exchange.
    """
    asked = asked_of(MLP, left_out=["flatten"])
    parts = [row for each in asked if each.layer != "flatten" for row in rows_of(each)]
    if strayed:
        parts = [_strayed(row) for row in parts]
    return placement_of(asked, parts, CROSSINGS)


def _strayed(row: PartRow) -> PartRow:
    if (row.layer, row.way) == ("dense_1", "forward"):
        return replace(row, device="CPU:0")
    if (row.layer, row.way) == ("dense", "backward") and row.part in "01":
        return replace(row, device=f"CPU:{1 - int(row.part)}")
    return row


def mlp_timeline(micro_batches: int = 3) -> Timeline:
    """A measured step of the mlp.

    Its stages one after another, and the micro-batches behind each other.
    """
    stages = [
        Stage(device="CPU:0", layers=["flatten", "dense"]),
        Stage(device="CPU:2", layers=["dense_1", "dense_2"]),
        Stage(device="CPU:3", layers=["outputs"]),
    ]
    tasks = []
    for number in range(micro_batches):
        for stage in range(3):
            begin = 0.002 * (stage + number)
            tasks.append(_span(stage, "forward", number, begin, 0.0018))
            back = 0.002 * (micro_batches + 2 + number + 2 - stage)
            tasks.append(_span(stage, "backward", number, back, 0.0019))
    end = 0.002 * (2 * micro_batches + 4)
    tasks += [_span(stage, "update", -1, end, 0.001) for stage in range(3)]
    busy = {"CPU:0": 0.012, "CPU:1": 0.006, "CPU:2": 0.011, "CPU:3": 0.012}
    return Timeline(
        step=2,
        seconds=end + 0.001,
        micro_batches=micro_batches,
        stages=stages,
        tasks=tasks,
        busy=busy,
    )


def _span(stage: int, way: str, micro_batch: int, begin: float, length: float) -> StageSpan:
    return StageSpan(
        stage=stage, way=way, micro_batch=micro_batch, begin=begin, end=begin + length, busy=length
    )
