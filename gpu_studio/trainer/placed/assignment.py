"""Assign a device to every layer of the model, from the layers that a plan names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.placement.known_problems import LAYERS, MisplacedLayers, without_unknown
from gpu_studio.plan import Placed
from gpu_studio.plan.homes import devices_of_layers, homes_of_layers
from gpu_studio.plan.problems import choose_one
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects.named import sentence
from gpu_studio.trainer.model_layers import PlaceableLayer


@dataclass(frozen=True, slots=True)
class LayerAssignment:
    """Where a leaf layer is.

    `devices` are several if its units are split; its output is then joined on `home`. `by_plan`
    says whether the plan names the layer.
    """

    number: int
    path: str
    layer: Any
    devices: tuple[str, ...]
    home: str
    by_plan: bool = True

    @property
    def split(self) -> bool:
        """Whether several devices each hold a part of it."""
        return len(self.devices) > 1


def seats(
    layers: Sequence[PlaceableLayer], placed: Placed, known: Sequence[str], default: str
) -> list[LayerAssignment]:
    """Return a seat for each layer, in the order of `layers`; on `default` if nothing is placed.

    Raises PlanRefused for a layer that the model does not have and for a device that is not among
    `known`.
    """
    _check(layers, placed, known)
    feeds = {layer.path: layer.inputs for layer in layers}
    devices = devices_of_layers(feeds, placed.layers, (default,))
    homes = homes_of_layers(feeds, devices)
    return [
        LayerAssignment(
            number,
            each.path,
            each.layer,
            devices[each.path],
            homes[each.path],
            by_plan=each.path in placed.layers,
        )
        for number, each in enumerate(layers)
    ]


def _check(layers: Sequence[PlaceableLayer], placed: Placed, known: Sequence[str]) -> None:
    paths = [layer.path for layer in layers]
    if unknown := [path for path in placed.layers if path not in paths]:
        raise _unknown(unknown, placed, paths)
    for path, devices in placed.layers.items():
        for device in devices:
            if device not in known:
                raise PlanRefused(
                    f"The plan places the layer {path} on {device}, which TensorFlow does not see.",
                    [f"Choose among {', '.join(known)}."],
                )


def _unknown(unknown: Sequence[str], placed: Placed, paths: Sequence[str]) -> PlanRefused:
    """Return the refusal of layers that the model does not have.

    It brings the change that takes them all out.
    """
    first = unknown[0]
    return PlanRefused(
        f"The plan places the layer {first}, which the model does not have.",
        [sentence(choose_one(first, paths))],
        [taken_out(without_unknown(dict(placed.layers), unknown, paths))],
    )


def taken_out(problem: MisplacedLayers) -> SuggestedChange:
    """Return the change of the plan that mends `problem`, in the form of a run's failure."""
    return SuggestedChange(
        text=problem.label,
        field=LAYERS,
        value={name: list(devices) for name, devices in problem.mended},
    )
