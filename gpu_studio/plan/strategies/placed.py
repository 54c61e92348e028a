"""Placed: each layer on the device where the plan puts it, trained by GPU Studio's own pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpu_studio.plan.strategies.one_device import alone
from gpu_studio.plan.strategies.strategy import Strategy
from gpu_studio.plan.values import Caution, Distribution, Placed, Plan

TEMPLATE_MICRO_BATCHES = 4
"""Enough for two stages to overlap by four fifths (GPipe: the bubble is (K - 1) / (M + K - 1))."""

MASKED_IN_PARTS = (
    "Some outputs are masked, so that the loss is the mean over those of a batch that count; in "
    "micro-batches their number is not known in time."
)
"""Why neither a run nor its script trains such a model in micro-batches."""


class _Placed(Strategy):
    def replica_devices(self, chosen: Distribution, names: Sequence[str]) -> tuple[str, ...]:
        """The devices that the placement names, in its order; the first one if it names none."""
        layers: Mapping[str, tuple[str, ...]] = chosen.placed.layers if chosen.placed else {}
        named = dict.fromkeys(device for devices in layers.values() for device in devices)
        return tuple(named) or tuple(names[:1])

    def cautions(self, plan: Plan, devices: Sequence[str]) -> Iterator[Caution]:
        """A placement that names no layer."""
        part = plan.distribution.placed
        if devices and not (part and part.layers):
            text = f"No layer is placed: all run on {devices[0]}."
            why = "A placement pays where several devices have layers."
            yield Caution("nothing placed", text, why, alone(plan, devices[0]))

    def template(self, first: Plan, devices: Sequence[str]) -> Plan:
        """The layers dealt to the devices in order, as evenly as they go."""
        layers = _dense_layers(first)
        count = len(layers)
        on = {layer: (devices[n * len(devices) // count],) for n, layer in enumerate(layers)}
        placed = Placed(micro_batches=TEMPLATE_MICRO_BATCHES, layers=on)
        return replace(first, name="digits, layers placed", distribution=placing(placed))


PLACED = _Placed(
    name="placed",
    title="Placed",
    button="Placed",
    line="Each layer runs where you put it: forward, backward and update.",
    pace="synchronous",
    pace_words=(
        "Synchronous: one model and one update a step, with the same losses as on one device."
    ),
    variables="each layer's on its device, with the optimizer's slots",
    gradients=(
        "computed on each layer's device; between devices go activations, and their gradients back"
    ),
    batches="the whole batch goes through all devices, cut into micro-batches that overlap",
    when="A model too large for one device, or one whose parts can work at the same time.",
    costs=(
        "Devices wait for each other at the beginning and the end of a step (the bubble): the "
        "less, the more micro-batches."
    ),
    devices="choice",
    picture="stages",
    places_layers=True,
)


def placing(placed: Placed, devices: tuple[str, ...] = ()) -> Distribution:
    """A distribution with this placement; `devices` are those to choose from, all if empty."""
    return Distribution(PLACED.name, devices, placed=placed)


def _dense_layers(plan: Plan) -> list[str]:
    """The dense layers of the starter's model; what lies between them goes where its input is."""
    hidden = plan.model.options.get("hidden", ())
    return [
        *("dense" if not place else f"dense_{place}" for place in range(len(hidden))),
        "outputs",
    ]
