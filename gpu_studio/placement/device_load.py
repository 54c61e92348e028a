"""What a placed model has on one device, layer by layer, in the terms of `StageMemory`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from gpu_studio.placement.apart import Apart, less_apart
from gpu_studio.placement.between_devices import (
    forward,
    forward_unkept,
    joined,
    lent,
    lingering,
    met,
    received,
    returned,
    skipping,
    waiting,
)
from gpu_studio.placement.plan_facts import GraphLayer, ModelGraph
from gpu_studio.placement.stage_memory import StageMemory, Step, WayBack
from gpu_studio.placement.work import kernel_table


class _Back(NamedTuple):
    """A layer of `WayBack`."""

    kept: float
    around: float
    gradients: float
    coming: float
    outlived: float
    behind: float
    doubled: float
    kernels: Sequence[tuple[float, float, float, float]]


def _way_back(layers: Sequence[_Back], *, whole: bool = False) -> WayBack:
    """The way back through layers; of a `whole` batch threads may fall behind, see `behind_bytes`.

    Of several micro-batches all else is seldom at its fullest in that moment: in 600 steps of four
    none showed both, where in one piece some of a hundred did.
    """
    if whole:
        layers = [each._replace(outlived=each.outlived + each.behind) for each in layers]
    columns = {
        name: np.array([getattr(each, name) for each in layers], np.float64)
        for name in ("kept", "around", "gradients", "coming", "outlived", "doubled")
    }
    return WayBack(kernels=kernel_table([each.kernels for each in layers]), **columns)


@dataclass(slots=True)
class Recomputed:
    """The memory of one device, in bytes per sample.

    `kept` is what its stages take from others, for the whole batch; `again` what the largest of its
    stages keeps when it is recomputed, for one micro-batch.
    """

    kept: int = 0
    again: int = 0


@dataclass(slots=True)
class _Stage:
    device: str | None
    layers: list[GraphLayer] = field(default_factory=list)


def recomputed(graph: ModelGraph, devices: Mapping[str, Sequence[str]]) -> dict[str, Recomputed]:
    """What each device keeps and recomputes; split layers keep everything and do not count here.

    As in the trainer, consecutive layers on one device are one stage.
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
            name for layer in stage.layers for name in layer.arriving(names) if name not in names
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


class GradientsBack(NamedTuple):
    """The gradient that is `coming` for an output from elsewhere, and `doubled`.

    To that so much may be `added` which comes from others.
    """

    coming: int = 0
    doubled: int = 0
    added: int = 0


NOTHING_COMES = GradientsBack()


def _back_through(
    layer: GraphLayer, share: float, spared: int, back: GradientsBack, here: Collection[str]
) -> _Back:
    """A share of a layer on its way back, around which so much is spared by a copy.

    Less still is held if other layers than those that are `here` are elsewhere.
    """

    def less(every: Sequence[Apart]) -> int:
        return max(spared, less_apart(every, here)) if here and share == 1 else spared

    return _Back(
        layer.kept_bytes * share,
        (layer.around + max(0, back.added - layer.outlived_bytes)) * share - less(layer.apart),
        layer.trainable_bytes * share,
        back.coming * share,
        layer.outlived_bytes * share,
        layer.behind_bytes * share,
        back.doubled * share,
        [
            (x.beside * share - less(x.apart), x.scratch, x.least, x.outlived * share)
            for x in layer.kernels
        ],
    )


def used_at_once(layer: GraphLayer) -> GraphLayer:
    """A layer for which nothing comes back that outlives its use."""
    kernels = tuple(each._replace(outlived=0) for each in layer.kernels)
    return replace(layer, outlived_bytes=0, behind_bytes=0, kernels=kernels)


@dataclass(slots=True)
class DeviceLoad:
    """What is on one device; its bytes in a step are those of `StageMemory`.

    `sent`: the model's input and what other devices make are sent to it, micro-batch for
    micro-batch.
    """

    sent: bool = False
    parameters: float = 0
    trainable: float = 0
    weights: float = 0
    gradients: float = 0
    slots: float = 0
    taken: int = 0
    received: int = 0
    returned: int = 0
    kept: float = 0
    passing: float = 0
    again: float = 0
    updating: float = 0
    share: float = 0
    brief: int = 0
    lingering: int = 0
    waiting: int = 0
    joined: int = 0
    met: int = 0
    beside: float = 0
    zeros: float = 0
    skipping: int = 0
    forward: int = 0
    came: float = 0
    rows: float = 0
    shapes: int = 0
    stages: list[list[_Back]] = field(default_factory=list)
    """A row of `WayBack` for each layer; those that are computed again stage by stage apart."""

    def add(
        self,
        layer: GraphLayer,
        slots: int,
        share: float,
        *,
        keeps: bool,
        begins: bool = False,
        back: GradientsBack = NOTHING_COMES,
        here: Collection[str] = (),
    ) -> None:
        """Put a share of a layer here, for which a gradient may come `back`.

        Those that are `here`, if given, are all layers of the device.
        """
        self.parameters += layer.parameters * share
        self.trainable += layer.trainable * share
        self.weights += layer.weight_bytes * share
        self.gradients += layer.trainable_bytes * share
        self.slots += slots * share
        self.kept += layer.kept_bytes * share * keeps
        self.passing = max(self.passing, layer.passing_bytes * share)
        self.zeros += layer.added_up_bytes * share * self.sent
        self.rows += layer.row_bytes * share * self.sent
        self.came = max(self.came, back.coming * share)
        largest = max(self.updating, 2 * layer.trainable_bytes * share)
        self.updating = self.gradients if self.sent else largest
        if begins or not self.stages:
            self.stages.append([])
        # What is computed again is needed longer.
        alone = keeps and share == 1 and not any(self.stages)
        spared = layer.spared_bytes if alone else 0
        self.stages[-1].append(_back_through(layer, share, spared, back, here))

    def receive(
        self,
        graph: ModelGraph,
        device: str,
        devices: Mapping[str, Sequence[str]],
        *,
        recompute: bool,
    ) -> None:
        """Count what comes and goes between devices; what is computed again needs all of it."""
        self.received = received(graph, device, devices)
        self.returned = returned(graph, device, devices)
        kept = self.received if recompute else received(graph, device, devices, kept=True)
        self.brief = self.received - kept
        self.lingering = 0 if recompute else lingering(graph, device, devices)
        self.waiting = waiting(graph, device, devices, kept=not recompute)
        self.skipping = skipping(graph, device, devices, kept=not recompute)
        self.kept -= 0 if recompute else lent(graph, device, devices)
        passing = forward_unkept if recompute else forward
        self.forward = passing(graph, device, devices)
        self.joined = joined(graph, device, devices)
        self.met = 0 if recompute else met(graph, device, devices)

    def recompute(self, found: Recomputed) -> None:
        """Keep what goes into the stages only.

        Split layers compute nothing again, and what they keep is here yet.
        """
        self.kept += max(0, found.kept - self.received)
        self.beside = self.kept
        self.again = found.again

    def stage(self) -> StageMemory:
        """What it holds, in the terms of the formula."""
        return StageMemory(
            gradients=self.gradients,
            taken=0.0 if self.sent else self.taken,
            kept=self.kept,
            passing=self.passing,
            again=self.again,
            updating=self.updating,
            share=self.share,
            received=self.received + self.taken if self.sent else 0.0,
            brief=self.brief,
            lingering=self.lingering,
            waiting=self.waiting,
            skipping=self.skipping,
            forward=self.forward,
            returned=self.returned if self.sent else 0.0,
            zeros=self.zeros,
            joined=self.joined,
            met=self.met,
            came=self.came,
            rows=self.rows,
            shapes=self.shapes,
        )

    def going_back(self, step: Step) -> float | None:
        """What a micro-batch on its way back holds here, at its fullest moment; None on a CPU."""
        if not self.sent:
            return None
        whole = step.part >= step.batch
        moments = [_way_back(rows, whole=whole).moments(step.part).max() for rows in self.stages]
        fullest = float(max(moments, default=0.0)) + self.beside * step.part
        # The gradient of what came in is made here, and sent back.
        return self.gradients + max(fullest, self.returned * step.part)

    def step(self, step: Step) -> int:
        """What it takes besides weights and slots."""
        return round(float(self.stage().step_bytes(step, self.going_back(step))))
