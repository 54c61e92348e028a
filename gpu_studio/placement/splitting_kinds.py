"""Which layers can have their units split over several devices, judged by kind and shape."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_studio.placement.model_graph import GraphLayer

SPLIT_KINDS = frozenset(
    {"Dense", "Embedding"}
    | {f"Conv{rank}D{suffix}" for rank in (1, 2, 3) for suffix in ("", "Transpose")}
)
"""Each unit of these needs only its own weights. The trainer's own rule also checks the options: it
refuses grouped convolutions, constraints, and regularizers that are not sums over a weight."""


def why_not_split(layer: GraphLayer, devices: Sequence[str]) -> str:
    """Why the units of `layer` cannot be split over this many devices, in a sentence.

    Empty if they can.
    """
    if layer.kind not in SPLIT_KINDS:
        return f"The layer {layer.name} cannot be split: a {layer.kind} has no units of its own."
    units = units_of(layer)
    if units is not None and units < len(devices):
        return f"The layer {layer.name} has {units} units, fewer than {len(devices)} devices."
    return ""


def units_of(layer: GraphLayer) -> int | None:
    """The number of units of a layer; None for kinds without them.

    Channels are the last output axis.
    """
    if layer.kind not in SPLIT_KINDS or not layer.output_shape:
        return None
    return layer.output_shape[-1]
