"""Rules for `[distribution.placed]`: existing devices, non-empty micro-batches, possible splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpu_studio.plan.keras_names import OPTIMIZERS, keras_name
from gpu_studio.plan.limits import PLACED_LIMITS
from gpu_studio.plan.machine import Machine
from gpu_studio.plan.problems import Problem, path_to, shown
from gpu_studio.plan.rules.distribution_rules import logical_problems
from gpu_studio.plan.rules.number_rules import bounded
from gpu_studio.plan.strategies import PLACED, placement_of, strategy_of
from gpu_studio.plan.values import Plan

PART = "distribution.placed"
LAYERS = f"{PART}.layers"

WHOLE_WEIGHT_OPTIMIZERS = ("adafactor", "muon")
"""They look at a weight as a whole: its rows and columns, or its singular values."""

WHOLE_WEIGHT_OPTIONS = ("clipnorm",)
"""Options of every optimizer that do so."""


def places(plan: Plan, machine: Machine | None) -> Iterator[Problem]:
    """The part appears only with its strategy, and each layer is on devices that TensorFlow sees.

    Each device is named once. Whether the model has the layers is for the trainer to say.
    """
    part = plan.distribution.placed
    if part is None:
        return
    if not strategy_of(plan).places_layers:
        advice = f'leave [distribution.placed] out, or choose strategy = "{PLACED.name}"'
        yield Problem(PART, f"given with strategy {shown(plan.distribution.strategy)}", advice)
    yield from bounded(PART, part, PLACED_LIMITS)
    for layer, devices in part.layers.items():
        yield from _places_of_layer(path_to(LAYERS, layer), devices, plan, machine)


def micro_batches(plan: Plan) -> Iterator[Problem]:
    """Every micro-batch has at least one sample."""
    part, batch = placement_of(plan), plan.training.batch_size
    if part and 1 <= batch < part.micro_batches:
        most = f"a batch of {batch:,} samples has at most {batch:,} parts"
        advice = f"{most}: give {batch} or less, or a larger batch_size"
        yield Problem(f"{PART}.micro_batches", str(part.micro_batches), advice)


def whole_weights(plan: Plan) -> Iterator[Problem]:
    """No layer is split if the optimizer needs its weights whole."""
    part = placement_of(plan)
    split = [layer for layer, devices in part.layers.items() if len(devices) > 1] if part else []
    if not split:
        return
    advice = f"give {shown(split[0])} one device, or"
    name = keras_name(plan.training.optimizer, OPTIMIZERS)
    if name in WHOLE_WEIGHT_OPTIMIZERS:
        said = f"{shown(name)} with layers split over devices"
        yield Problem(
            "training.optimizer", said, f'it looks at whole weights: {advice} choose "adam"'
        )
    for option in WHOLE_WEIGHT_OPTIONS:
        if plan.training.options.get(option):
            said = "given with layers split over devices"
            why = f"it looks at whole weights: {advice} write global_clipnorm"
            yield Problem(f"training.options.{option}", said, why)


def _places_of_layer(
    field: str, devices: tuple[str, ...], plan: Plan, machine: Machine | None
) -> Iterator[Problem]:
    if not devices:
        yield Problem(field, "empty", "name the device, or the devices, that the layer runs on")
    for device in [each for each, count in Counter(devices).items() if count > 1]:
        yield Problem(field, f"given {shown(device)} more than once", "name each device once")
    for device in dict.fromkeys(devices):
        yield from logical_problems(field, device, plan, machine)
