"""From the layers that a plan names to a device for every layer of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpu_studio.placement.known_problems import LAYERS, Misplaced, without_unknown
from gpu_studio.plan import Placed
from gpu_studio.plan.problems import choose_one
from gpu_studio.runs.event_parts import Mend
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.keras_objects.named import sentence
from gpu_studio.trainer.model_layers import PlaceableLayer


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a leaf layer is. `devices` are several where its units are split; its output is then joined on `home`.

    `by_plan` says whether the plan names the layer.
    """

    number: int
    path: str
    layer: Any
    devices: tuple[str, ...]
    home: str
    by_plan: bool = True

    @property
    def split(self) -> bool:
        """Whether several devices have a part of it each."""
        return len(self.devices) > 1


def seats(layers: Sequence[PlaceableLayer], placed: Placed, known: Sequence[str], default: str) -> list[Seat]:
    """A seat for each layer, in the order of `layers`.

    A layer that the plan leaves out goes where the first of its inputs is; one that takes the model's input goes where
    the first layer after it is, and where nothing is placed, to `default`. Raises PlanRefused for a layer that the
    model does not have and for a device that is not among `known`.
    """
    _check(layers, placed, known)
    chosen = {layer.path: placed.layers[layer.path] for layer in layers if layer.path in placed.layers}
    homes = {path: _home(path, devices, layers, chosen) for path, devices in chosen.items()}
    _seat_the_rest(layers, chosen, homes, default)
    return [
        Seat(
            number,
            each.path,
            each.layer,
            chosen.get(each.path, (homes[each.path],)),
            homes[each.path],
            by_plan=each.path in chosen,
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
    """The refusal of layers that the model does not have, with the change that takes them all out."""
    first = unknown[0]
    return PlanRefused(
        f"The plan places the layer {first}, which the model does not have.",
        [sentence(choose_one(first, paths))],
        [taken_out(without_unknown(dict(placed.layers), unknown, paths))],
    )


def taken_out(problem: Misplaced) -> Mend:
    """The change of the plan that mends `problem`, as a run's failure tells it."""
    return Mend(text=problem.label, field=LAYERS, value={name: list(devices) for name, devices in problem.mended})


def _home(
    path: str, devices: Sequence[str], layers: Sequence[PlaceableLayer], chosen: Mapping[str, Sequence[str]]
) -> str:
    """Where the parts of a split layer are joined: at those who take it, if they are all in one place."""
    takers = {chosen.get(layer.path, ()) for layer in layers if path in layer.inputs}
    if len(devices) > 1 and len(takers) == 1:
        (taker,) = takers
        return taker[0] if len(taker) == 1 else devices[0]
    return devices[0]


def _seat_the_rest(
    layers: Sequence[PlaceableLayer], chosen: Mapping[str, Sequence[str]], homes: dict[str, str], default: str
) -> None:
    for each in layers:
        _follow(each.path, each.inputs, homes, homes)
    # Before the first layer that is placed: to where that one starts, which of a split layer is not where it ends.
    starts = homes | {path: devices[0] for path, devices in chosen.items()}
    for each in reversed(layers):
        takers = [later.path for later in layers if each.path in later.inputs]
        _follow(each.path, takers, starts, homes)
        starts.setdefault(each.path, homes.get(each.path, ""))
    for each in layers:
        _follow(each.path, each.inputs, homes, homes)
        homes.setdefault(each.path, default)


def _follow(path: str, others: Iterable[str], where: Mapping[str, str], homes: dict[str, str]) -> None:
    found = next((where[other] for other in others if where.get(other)), None)
    if found is not None:
        homes.setdefault(path, found)
