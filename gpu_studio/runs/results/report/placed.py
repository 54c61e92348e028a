"""Where the layers of a run were asked to be, and where they ran, in its report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu_studio.runs.reading.placements import Judgement, LayerRow, PassRow, judged
from gpu_studio.runs.results.report.elements import section, table
from gpu_studio.runs.results.report.markup import Markup, tag
from gpu_studio.runs.results.run_figures import RunFigures
from gpu_studio.runs.wording import size

_MOST_LAYERS: Final = 400
_MOST_CROSSINGS: Final = 30


def placement(run: RunFigures) -> Markup | None:
    """Return the section; None if it was not told, or nothing was asked."""
    if run.placement is None or not run.placement.asked:
        return None
    found = judged(run.placement)
    shown = [layer for layer in found.layers if layer.operations][:_MOST_LAYERS]
    left_out = f", the first {len(shown)} of {len(found.layers)} layers" if len(shown) == _MOST_LAYERS else ""
    caption = f"Operations of each layer on each device, as TensorFlow executed the first step{left_out}"
    headings = ("layer", "asked", "forward", "backward", "update", "")
    return section(
        "Placement",
        tag("p", _verdict(found), class_="bad" if found.wrong else None),
        table(caption, headings, (_row(layer) for layer in shown)),
        table(_crossing_caption(found), ("from", "to", "bytes", "tensors"), _crossings(found), (2, 3)),
    )


def _verdict(found: Judgement) -> str:
    if not found.wrong:
        return f"All {found.operations:,} operations of the layers ran where they were asked to be."
    count = len(found.wrong)
    return f"{count} {'part' if count == 1 else 'parts'} of the layers did not run where asked: see the table."


def _row(layer: LayerRow) -> list[str]:
    asked = ", ".join(layer.asked) + (f", joined on {layer.joined_on}" if layer.joined_on else "")
    return [
        layer.layer,
        asked or "anywhere",
        *(_ran(each) for each in layer.passes),
        "elsewhere" if layer.wrong else "",
    ]


def _ran(row: PassRow) -> str:
    return ", ".join(f"{device} ×{count}" for device, count in row.ran) or "–"


def _crossing_caption(found: Judgement) -> str:
    least = "at least " if found.crossing_is_least else ""
    return f"What crosses from device to device in a step, {least}{size(found.crossing_bytes)}, the largest first"


def _crossings(found: Judgement) -> Iterator[list[str]]:
    for each in found.crossings[:_MOST_CROSSINGS]:
        source = " ".join(filter(None, (each.source, each.from_device)))
        target = " ".join(filter(None, (each.target, each.to_device)))
        yield [source, target, "not known" if each.bytes is None else size(each.bytes), f"{each.tensors:,}"]
