"""What is kept where stages compute their activations again: only what goes into them.

Chen et al. 2016, "Training deep nets with sublinear memory cost" (arXiv:1604.06174), with the stages as segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gpu_studio.placement.model_graph import Layer, ModelGraph


@dataclass(slots=True)
class Recomputed:
    """Of one device, in bytes a sample.

    `kept` is what its stages take from others, for the whole batch; `again` what the largest of its stages keeps when
    it is computed again, of one micro-batch.
    """

    kept: int = 0
    again: int = 0


@dataclass(slots=True)
class _Stage:
    device: str | None
    layers: list[Layer] = field(default_factory=list)


def recomputed(graph: ModelGraph, devices: Mapping[str, Sequence[str]]) -> dict[str, Recomputed]:
    """What each device keeps, and has again; layers that are split keep all, and count for no device here.

    As in the trainer, layers that follow each other on one device are one stage.
    """
    outputs = {layer.name: layer.output_bytes for layer in graph.layers}
    taken: dict[str, set[str]] = {}
    found: dict[str, Recomputed] = {}
    for stage in _stages(graph, devices):
        if stage.device is None:
            continue
        here = found.setdefault(stage.device, Recomputed())
        here.again = max(here.again, sum(layer.kept_bytes for layer in stage.layers))
        names = {layer.name for layer in stage.layers}
        taken.setdefault(stage.device, set()).update(
            name for layer in stage.layers for name in layer.inputs if name not in names
        )
    for device, names in taken.items():
        found[device].kept = sum(outputs.get(name, 0) for name in names)
    return found


def _stages(graph: ModelGraph, devices: Mapping[str, Sequence[str]]) -> Iterator[_Stage]:
    stage = _Stage(None)
    for layer in graph.layers:
        on = devices[layer.name]
        device = on[0] if len(on) == 1 else None
        if device != stage.device or device is None:
            yield stage
            stage = _Stage(device)
        stage.layers.append(layer)
    yield stage
