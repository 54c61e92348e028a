"""The layers of a model as rows of a table, and what they come to together, in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from gpu_studio.placement.model_graph import Layer, ModelGraph
from gpu_studio.placement.work_words import flops_in_words
from gpu_studio.ui.models.figures import size
from gpu_studio.ui.models.plain_table import PlainTable
from gpu_studio.ui.units import number

_MOST_WIDTHS, _MOST_SHAPES = 7, 3


class LayersModel(PlainTable[Layer]):
    """A row for each layer, in the order in which they run."""

    headers = ("Layer", "Class", "Output", "Parameters", "Memory", "FLOP")
    right = frozenset({3, 4, 5})

    def key(self, row: Layer) -> str:
        """The layer's name."""
        return row.name

    def text(self, row: Layer, column: int) -> str:
        """The words of a cell."""
        return (
            row.name,
            row.kind,
            shape_in_words(row.output_shape),
            number(row.parameters),
            size(row.weight_bytes),
            flops_in_words(row.flops_forward).removesuffix("FLOP").rstrip(),
        )[column]

    def order(self, row: Layer, column: int) -> Any:
        """Numbers by their size."""
        return {3: row.parameters, 4: row.weight_bytes, 5: row.flops_forward}.get(column, self.text(row, column))


def shape_in_words(shape: Sequence[int | None]) -> str:
    """One sample's shape: `28 × 28 × 1`; an axis of any length is `any`, a single number `one number`."""
    return " × ".join("any" if axis is None else number(axis) for axis in shape) if shape else "one number"


def widths(graph: ModelGraph) -> str:
    """What a sample is from layer to layer: `28 × 28 × 1 → 256 → 256 → 10`.

    Layers without weights are left out, and the middle of a long chain: first of what is equal all along. Where whole
    pictures go from layer to layer, there is room for the first shape and the last.
    """
    changing = (layer for layer in graph.layers if layer.parameters and layer.output_shape)
    shapes = [graph.input_shape, *(layer.output_shape for layer in changing)]
    names = [shape_in_words(shape) for shape in shapes]
    pictures = sum(len(shape) > 1 for shape in shapes) > 1
    if pictures and len(names) > _MOST_SHAPES:
        names = [names[0], "…", names[-1]]
    if len(names) > _MOST_WIDTHS:
        names = [each for _, same in groupby(names) for each in _ends(list(same))]
    if len(names) > _MOST_WIDTHS:
        names = [*names[:3], "…", *names[-3:]]
    return " → ".join(names).replace("… → …", "…")


def _ends(same: list[str]) -> list[str]:
    return same if len(same) <= 2 else [same[0], "…"]


def totals(graph: ModelGraph) -> str:
    """All layers together: parameters, bytes and operations of a sample."""
    weights = sum(layer.weight_bytes for layer in graph.layers)
    forward = sum(layer.flops_forward for layer in graph.layers)
    return f"{number(graph.parameters)} parameters · {size(weights)} · {flops_in_words(forward)} a sample"
