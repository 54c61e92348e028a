"""Which layers can have their units split over several devices, as far as a layer's kind and shape tell."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_studio.placement.model_graph import Layer

SPLIT_KINDS = frozenset(
    {"Dense", "Embedding"} | {f"Conv{rank}D{suffix}" for rank in (1, 2, 3) for suffix in ("", "Transpose")}
)
"""Each unit of these needs its own weights only. The trainer's own rule looks at the options besides: it refuses
convolutions in groups, constraints, and regularizers that are no sum over the numbers of a weight."""


def why_not_split(layer: Layer, devices: Sequence[str]) -> str:
    """Why the units of `layer` cannot be split over so many devices, in a sentence; empty if they can."""
    if layer.kind not in SPLIT_KINDS:
        return f"The layer {layer.name} cannot be split: a {layer.kind} has no units of its own."
    units = units_of(layer)
    if units is not None and units < len(devices):
        return f"The layer {layer.name} has {units} units, fewer than {len(devices)} devices."
    return ""


def units_of(layer: Layer) -> int | None:
    """How many units a layer of these kinds has; None for other kinds. Channels are the last axis of its output."""
    if layer.kind not in SPLIT_KINDS or not layer.output_shape:
        return None
    return layer.output_shape[-1]
