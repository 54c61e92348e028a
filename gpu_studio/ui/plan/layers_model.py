"""The layers of a model as rows of a table, and their totals in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from gpu_studio.common.figures import flops, grouped, size
from gpu_studio.placement.model_graph import GraphLayer, ModelGraph
from gpu_studio.ui.kit.plain_table import PlainTable

_MOST_WIDTHS, _MOST_SHAPES = 7, 3


class LayersModel(PlainTable[GraphLayer]):
    """A row for each layer, in the order in which they run."""

    headers = ("Layer", "Class", "Output", "Parameters", "Memory", "FLOP")
    right = frozenset({3, 4, 5})

    def key(self, row: GraphLayer) -> str:
        """The layer's name."""
        return row.name

    def text(self, row: GraphLayer, column: int) -> str:
        """The words of a cell."""
        return (
            row.name,
            row.kind,
            shape_in_words(row.output_shape),
            grouped(row.parameters),
            size(row.weight_bytes),
            flops(row.flops_forward).removesuffix("FLOP").rstrip(),
        )[column]

    def order(self, row: GraphLayer, column: int) -> Any:
        """Sort numbers by their size."""
        return {3: row.parameters, 4: row.weight_bytes, 5: row.flops_forward}.get(
            column, self.text(row, column)
        )


def shape_in_words(shape: Sequence[int | None]) -> str:
    """Return one sample's shape: `28 × 28 × 1`.

    An axis of any length is `any`, a single number `one number`.
    """
    return (
        " × ".join("any" if axis is None else grouped(axis) for axis in shape)
        if shape
        else "one number"
    )


def widths(graph: ModelGraph) -> str:
    """Return a sample's width from layer to layer: `28 × 28 × 1 → 256 → 256 → 10`.

    Layers without weights are left out, and so is the middle of a long chain, equal widths first.
    Where whole pictures go from layer to layer, only the first and last shapes fit.
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
    """Return the totals of all layers: parameters, bytes, and operations per sample."""
    weights = sum(layer.weight_bytes for layer in graph.layers)
    forward = sum(layer.flops_forward for layer in graph.layers)
    return f"{grouped(graph.parameters)} parameters · {size(weights)} · {flops(forward)} a sample"
